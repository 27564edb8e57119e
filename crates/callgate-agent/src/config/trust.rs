//! Trust: the user's answers to files that folders brought along, remembered outside of all folders.

use std::collections::BTreeMap;
use std::io;

use serde::{Deserialize, Serialize};

use super::{FolderFile, StateFolder, Wish};

/// The file of the state folder that holds the answers, a JSON object on each line.
const NAME: &str = "trust";

/// What the user said to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrustAnswer {
    /// What it asks for may hold.
    Allow,
    /// It is left out.
    Deny,
}

impl TrustAnswer {
    /// The stable word.
    pub fn word(self) -> &'static str {
        match self {
            TrustAnswer::Allow => "allow",
            TrustAnswer::Deny => "deny",
        }
    }
}

/// An answer, and what exactly it was given to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Remembered {
    /// The whole path of the file, without links.
    pub path: String,
    /// The SHA-256 of its bytes.
    pub sha256: String,
    /// What was said.
    pub answer: TrustAnswer,
    /// What the file asked for, to show what changed when it changes.
    pub settings: BTreeMap<String, serde_json::Value>,
}

impl Remembered {
    /// Whether the answer is for this file as it is.
    pub fn is_for(&self, file: &FolderFile) -> bool {
        file.path.to_str() == Some(&self.path) && file.sha256 == self.sha256
    }

    /// The keys whose values are not those that the answer was given to.
    pub fn changes(&self, wishes: &[Wish]) -> Vec<KeyChange> {
        let mut now = settings(wishes);
        let mut changes: Vec<KeyChange> = Vec::new();
        for (key, before) in &self.settings {
            let after = now.remove(key);
            if after.as_ref() != Some(before) {
                changes.push(KeyChange { key: key.clone(), before: Some(before.clone()), after });
            }
        }
        changes.extend(now.into_iter().map(|(key, after)| KeyChange {
            key,
            before: None,
            after: Some(after),
        }));
        changes
    }
}

/// A key that changed in a file since the user answered to it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KeyChange {
    /// Which key.
    pub key: String,
    /// What stood there, if anything did.
    pub before: Option<serde_json::Value>,
    /// What stands there now, if anything does.
    pub after: Option<serde_json::Value>,
}

/// The answers that are remembered, one for each file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustStore {
    state: StateFolder,
}

impl TrustStore {
    /// The answers in a state folder.
    pub fn new(state: StateFolder) -> Self {
        TrustStore { state }
    }

    /// All answers, in the order in which they were given.
    pub fn all(&self) -> io::Result<Vec<Remembered>> {
        let text = self.state.read(NAME)?.unwrap_or_default();
        // A line that cannot be read is no answer, so whatever it was about is asked again.
        Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
    }

    /// The last answer to the file at this place, which may be to another content.
    pub fn about(&self, file: &FolderFile) -> io::Result<Option<Remembered>> {
        let path = path(file)?;
        Ok(self.all()?.into_iter().rfind(|remembered| remembered.path == path))
    }

    /// Remembers an answer to a file as it is, in the place of earlier ones.
    pub fn remember(&self, file: &FolderFile, answer: TrustAnswer, wishes: &[Wish]) -> io::Result<()> {
        let path = path(file)?.to_owned();
        let mut all = self.all()?;
        all.retain(|remembered| remembered.path != path);
        let settings = settings(wishes);
        all.push(Remembered { path, sha256: file.sha256.clone(), answer, settings });
        let mut text = String::new();
        for remembered in &all {
            text.push_str(&serde_json::to_string(remembered).map_err(io::Error::other)?);
            text.push('\n');
        }
        self.state.write(NAME, &text)
    }
}

fn settings(wishes: &[Wish]) -> BTreeMap<String, serde_json::Value> {
    wishes.iter().map(|wish| (wish.key.clone(), wish.value.to_json())).collect()
}

/// Two paths that are no text could look alike, so an answer is only for one that is.
fn path(file: &FolderFile) -> io::Result<&str> {
    file.path.to_str().ok_or_else(|| io::Error::other("the path of the file is no text"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn a01_an_answer_is_for_one_file_as_it_was() {
        let folder = std::env::temp_dir().join(format!("callgate-trust-{}", std::process::id()));
        let store = TrustStore::new(StateFolder::at(&folder));
        let file = |path: &str, text: &str| FolderFile {
            path: path.into(),
            text: text.to_owned(),
            sha256: crate::hex(text.as_bytes()),
        };
        let wishes = |text: &str| Config::builder().folder("f", text).wishes();
        let (old, new) =
            ("provider: ollama\nchat: {examples: 1}\n", "provider: openai\nchat: {endless: true}\n");
        let one = file("/a/.agent/config.yml", old);
        assert_eq!(store.about(&one).unwrap(), None);
        store.remember(&one, TrustAnswer::Allow, &wishes(old)).unwrap();
        let remembered = store.about(&one).unwrap().unwrap();
        assert!(remembered.is_for(&one));
        assert!(!remembered.is_for(&file("/b/.agent/config.yml", old)));
        assert_eq!(store.about(&file("/b/.agent/config.yml", old)).unwrap(), None);
        let changed = file("/a/.agent/config.yml", new);
        let remembered = store.about(&changed).unwrap().unwrap();
        assert!(!remembered.is_for(&changed));
        let keys: Vec<String> =
            remembered.changes(&wishes(new)).into_iter().map(|change| change.key).collect();
        assert_eq!(keys, ["chat.examples", "provider", "chat.endless"]);
        store.remember(&changed, TrustAnswer::Deny, &wishes(new)).unwrap();
        assert_eq!(store.all().unwrap().len(), 1, "the last answer is the one that counts");
        assert!(!store.about(&one).unwrap().unwrap().is_for(&one));
        drop(std::fs::remove_dir_all(&folder));
    }
}
