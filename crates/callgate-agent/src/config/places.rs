//! Places: where the user's own configuration and state are, outside of every folder that an agent works in.

use std::ffi::OsString;
use std::path::PathBuf;

/// The name of the folder beneath those of the user.
const NAME: &str = "callgate";

/// The user's own places; nothing where the environment names none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// The user's own configuration: `$XDG_CONFIG_HOME/callgate/config.yml`, or `~/.config/callgate/config.yml`.
    pub config: Option<PathBuf>,
    /// What is remembered between runs: `$XDG_STATE_HOME/callgate`, or `~/.local/state/callgate`.
    pub state: Option<PathBuf>,
}

impl Places {
    /// The places that environment variables name. A relative one is nobody's: it would lie in whatever folder one is in.
    pub fn find(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = absolute("HOME").or_else(|| absolute("USERPROFILE"));
        let place = |name: &str, usual: &str| absolute(name).or_else(|| Some(home.as_ref()?.join(usual)));
        Places {
            config: place("XDG_CONFIG_HOME", ".config").map(|path| path.join(NAME).join("config.yml")),
            state: place("XDG_STATE_HOME", ".local/state").map(|path| path.join(NAME)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_absolute_or_nowhere() {
        let find = |variables: &[(&str, &str)]| {
            Places::find(|name| {
                variables.iter().find(|(known, _)| *known == name).map(|(_, path)| OsString::from(path))
            })
        };
        let shown = |places: Places| {
            [places.config, places.state].map(|path| path.map(|path| path.display().to_string()))
        };
        let usual =
            ["/h/.config/callgate/config.yml", "/h/.local/state/callgate"].map(|path| Some(path.to_owned()));
        assert_eq!(shown(find(&[("HOME", "/h")])), usual);
        assert_eq!(
            shown(find(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "here"), ("XDG_STATE_HOME", "")])),
            usual
        );
        let named = find(&[("XDG_CONFIG_HOME", "/c"), ("XDG_STATE_HOME", "/s")]);
        let wanted = ["/c/callgate/config.yml", "/s/callgate"].map(|path| Some(path.to_owned()));
        assert_eq!(shown(named), wanted);
        assert_eq!(shown(find(&[("HOME", ".")])), [None, None]);
    }
}
