//! What is wrong with a configuration: a code, the place, the key, and the way out.

use std::fmt;
use std::path::PathBuf;

/// Where a value was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nobody gave it: the default.
    Default,
    /// Nobody gave it: the chosen profile's own.
    Profile,
    /// A line of a file of the user's own.
    File {
        /// Which file.
        path: PathBuf,
        /// The line, counted from one.
        line: usize,
    },
    /// A line of a file that came with the folder: whoever wrote the folder may have written it.
    Folder {
        /// Which file.
        path: PathBuf,
        /// The line, counted from one.
        line: usize,
    },
    /// An environment variable.
    Environment(String),
    /// A flag of the command line, as it was written.
    Flag(String),
}

impl Origin {
    /// Whether somebody gave the value, as opposed to nobody.
    pub fn is_given(&self) -> bool {
        !matches!(self, Origin::Default | Origin::Profile)
    }

    /// Whether it stands in a file that came with the folder.
    pub fn is_folder(&self) -> bool {
        matches!(self, Origin::Folder { .. })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::Profile => f.write_str("profile"),
            Origin::File { path, line: 0 } | Origin::Folder { path, line: 0 } => {
                write!(f, "{}", path.display())
            }
            Origin::File { path, line } | Origin::Folder { path, line } => {
                write!(f, "{}:{line}", path.display())
            }
            Origin::Environment(name) => write!(f, "${name}"),
            Origin::Flag(flag) => f.write_str(flag),
        }
    }
}

/// The kinds of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigErrorCode {
    /// The file cannot be opened, or is no YAML of the expected shape.
    Unreadable,
    /// There is no such key.
    UnknownKey,
    /// The value is of another type than the key.
    WrongType,
    /// The value is of the right type and not allowed.
    OutOfRange,
    /// Two spellings of one key disagree.
    Conflict,
    /// The key is for the user alone, and stands in a file that came with the folder.
    OwnKey,
    /// The key needs a yes of the user, and there is none for this file as it is.
    Untrusted,
    /// A secret would go where the user did not send it.
    UnboundSecret,
    /// The folder or a file in it belongs to somebody else, or is a link.
    NotYours,
}

impl ConfigErrorCode {
    /// The stable word.
    pub fn word(self) -> &'static str {
        match self {
            ConfigErrorCode::Unreadable => "unreadable",
            ConfigErrorCode::UnknownKey => "unknown-key",
            ConfigErrorCode::WrongType => "wrong-type",
            ConfigErrorCode::OutOfRange => "out-of-range",
            ConfigErrorCode::Conflict => "conflict",
            ConfigErrorCode::OwnKey => "own-key",
            ConfigErrorCode::Untrusted => "untrusted",
            ConfigErrorCode::UnboundSecret => "unbound-secret",
            ConfigErrorCode::NotYours => "not-yours",
        }
    }
}

/// One fault of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// What kind of fault.
    pub code: ConfigErrorCode,
    /// Where.
    pub origin: Origin,
    /// The key as it was written; empty where the whole file is meant.
    pub key: String,
    /// What is wrong.
    pub message: String,
    /// The way out.
    pub help: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.origin)?;
        if !self.key.is_empty() {
            write!(f, "`{}`: ", self.key)?;
        }
        write!(f, "{} ({})", self.message, self.help)
    }
}

impl std::error::Error for ConfigError {}

/// Every fault of a configuration, so that one run shows them all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigErrors(pub Vec<ConfigError>);

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, error) in self.0.iter().enumerate() {
            if number > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}

impl From<ConfigError> for ConfigErrors {
    fn from(error: ConfigError) -> Self {
        ConfigErrors(vec![error])
    }
}
