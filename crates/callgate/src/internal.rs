//! Parts of the engine for the other crates of this project, its tests, benches and fuzz targets. No promise of the
//! crate holds for what is here: any version may change it.

pub use crate::finding::{CodeEntry, Example};
pub use crate::registry::nearest;
pub use crate::session::Work;

/// The batch contract: JSON lines in and out.
pub mod batch {
    pub use crate::batch::*;
}

/// Which dialect a text is written in.
pub mod detect {
    pub use crate::detect::*;
}

/// The parts that a dialect is made of.
pub mod dialect {
    pub use crate::dialect::*;
}

/// The tolerant reader and its tape.
pub mod json {
    pub use crate::json::*;
}

/// The positions of every knob.
pub mod policy {
    pub use crate::policy::*;
}

/// The forms that the documents of single profiles want.
pub mod profile {
    pub use crate::profile::*;
}

/// Compiled schemas.
pub mod schema {
    pub use crate::schema::*;
}

/// Switches that turn shortcuts off.
#[cfg(feature = "careful")]
pub mod shortcuts {
    pub use crate::shortcuts::*;
}
