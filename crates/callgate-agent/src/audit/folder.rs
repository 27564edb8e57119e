//! Folders: the sessions of a folder as one chain, so that one that is missing is seen and one that went by rule is not
//! taken for it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::Serialize;

use super::chain::{self, Checkpoint, Known, Opening, Report, verify_file};
use super::heads::{Head, Heads};
use super::key::AuditKey;
use super::ours::is_ours;
use super::{AuditSettings, session_of};
use crate::lock::{lock, lock_soon};

/// The session files of a folder, the one that was written last at the end.
pub fn sessions(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if session_of(&entry.path()).is_some() {
            found.push((entry.metadata()?.modified()?, entry.path()));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

/// Which sessions of a folder are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// All that there are or were.
    All,
    /// The one that was written last, if none is missing.
    Latest,
    /// This one alone.
    Session(String),
}

/// What the verification of a folder found.
#[derive(Debug, Serialize)]
pub struct FolderReport {
    /// Each session that is there and is meant.
    pub sessions: Vec<SessionReport>,
    /// The sessions that are spoken of, are not there and did not go by rule.
    pub missing: Vec<Head>,
    /// Where heads of this folder's logs are kept; none if nothing is known of them here.
    pub heads: Option<PathBuf>,
}

/// What the verification of one session found.
#[derive(Debug, Serialize)]
pub struct SessionReport {
    /// Its file.
    pub file: PathBuf,
    /// Whether a head of it was kept in the second place.
    pub has_head: bool,
    /// What was found.
    pub report: Report,
}

/// Verifies the logs of a folder, each against what the others and the second place in the state folder know of it.
pub fn verify_folder(
    folder: &Path,
    chosen: &Chosen,
    state: Option<&Path>,
    key: Option<&AuditKey>,
) -> io::Result<FolderReport> {
    let heads = match state {
        Some(state) => Heads::find(state, folder).map_err(|error| {
            io::Error::new(error.kind(), format!("the heads in {}: {error}", state.display()))
        })?,
        None => None,
    };
    // The lock keeps sessions from beginning or being removed while they are listed. A folder that cannot be locked is
    // verified without.
    let hold = File::open(folder).ok();
    let _ = hold.as_ref().map(lock_soon);
    // Heads are read before the logs: a log that is being written is then never behind its head.
    let kept = heads.as_ref().map_or(Ok(Vec::new()), Heads::all)?;
    let files = match sessions(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !kept.is_empty() => Vec::new(),
        found => found?,
    };
    let chain = Chain::read(&files);
    drop(hold);

    let has_head = |id: &str| kept.iter().any(|head| head.session_id == id);
    let mut missing: BTreeMap<String, Head> = BTreeMap::new();
    for head in kept.iter().chain(chain.befores()) {
        let id = head.session_id.as_str();
        // Anybody could add a log which claims that another session was pruned. For a session with a head, only the claim
        // of a log with a head counts.
        let went_by_rule = chain.pruners(id).any(|pruner| !has_head(id) || has_head(pruner));
        if !chain.openings.contains_key(id) && !went_by_rule {
            missing.insert(id.to_owned(), head.clone());
        }
    }
    let files = match chosen {
        Chosen::All => files,
        Chosen::Latest => files.into_iter().next_back().into_iter().collect(),
        Chosen::Session(id) => {
            missing.retain(|session_id, _| session_id == id);
            let path = super::session_path(folder, id).map_err(io::Error::other)?;
            if missing.is_empty() { vec![path] } else { Vec::new() }
        }
    };
    let mut reports = Vec::new();
    for file in files {
        let id = session_of(&file).unwrap_or_default();
        let about = |head: &&Head| head.session_id == id;
        let checkpoints: Vec<Checkpoint> =
            kept.iter().chain(chain.befores()).filter(about).map(|head| head.at.clone()).collect();
        let known = Known { session_id: None, checkpoints, key: key.cloned() };
        let report = verify_file(&file, &known)?;
        reports.push(SessionReport { has_head: has_head(id), report, file });
    }
    let missing = missing.into_values().collect();
    Ok(FolderReport { sessions: reports, missing, heads: heads.map(|heads| heads.place().to_owned()) })
}

/// What the first records of a folder's logs say about each other. They are not verified here.
pub(super) struct Chain {
    /// By session: when it began, and what its first record says. Nothing where that cannot be read.
    openings: BTreeMap<String, Option<(String, Opening)>>,
}

impl Chain {
    pub(super) fn read(files: &[PathBuf]) -> Self {
        let opening = |path: &PathBuf| {
            let id = session_of(path)?.to_owned();
            let first = chain::opening(path).map(|(ts, opening)| (ts, opening.unwrap_or_default()));
            Some((id, first))
        };
        Chain { openings: files.iter().filter_map(opening).collect() }
    }

    fn said(&self) -> impl Iterator<Item = &Opening> {
        self.openings.values().flatten().map(|(_, opening)| opening)
    }

    fn befores(&self) -> impl Iterator<Item = &Head> {
        self.said().filter_map(|opening| opening.before.as_ref())
    }

    /// The sessions that say of another that it went by rule.
    fn pruners(&self, session_id: &str) -> impl Iterator<Item = &str> {
        let says = move |(_, opening): &&(String, Opening)| {
            opening.pruned.iter().any(|head| head.session_id == session_id)
        };
        let first = self.openings.iter().filter_map(|(id, first)| Some((id.as_str(), first.as_ref()?)));
        first.filter(move |(_, first)| says(first)).map(|(id, _)| id)
    }

    /// The session that a new one comes behind: of those that none comes behind, the one that began last.
    pub(super) fn last(&self) -> Option<&str> {
        let followed: BTreeSet<&str> = self.befores().map(|head| head.session_id.as_str()).collect();
        let open = self.openings.iter().filter(|(id, _)| !followed.contains(id.as_str()));
        let begun = open.filter_map(|(id, first)| Some((&first.as_ref()?.0, id)));
        begun.max().map(|(_, id)| id.as_str())
    }
}

/// Sessions that go by rule: found first, then written down, then removed.
pub(super) struct Pruning {
    /// Each with its file, which is locked until it is gone, so that nobody goes on with it meanwhile.
    files: Vec<(PathBuf, File)>,
    /// How far each had gone, and those that went before and are still spoken of.
    pub(super) heads: Vec<Head>,
}

impl Pruning {
    /// Finds the sessions that are too old or too many. Those that are being written stay, whoever writes them.
    pub(super) fn plan(settings: &AuditSettings, all: &[PathBuf], chain: &Chain) -> io::Result<Self> {
        let mut pruning = Pruning { files: Vec::new(), heads: Vec::new() };
        if settings.max_age.is_none() && settings.max_sessions.is_none() {
            return Ok(pruning);
        }
        let now = SystemTime::now();
        let room = settings.max_sessions.map_or(usize::MAX, |most| most.saturating_sub(1));
        let mut gone = BTreeSet::new();
        // The newest first.
        for (number, path) in all.iter().rev().filter(|path| is_ours(path)).enumerate() {
            let modified = std::fs::metadata(path)?.modified()?;
            let is_old = settings
                .max_age
                .is_some_and(|age| now.duration_since(modified).is_ok_and(|passed| passed > age));
            let Some(id) = session_of(path).filter(|_| number >= room || is_old) else { continue };
            let Ok(file) = File::open(path) else { continue };
            if lock(&file).is_err() {
                continue;
            }
            let report = verify_file(path, &Known::default())?;
            let at = report.head.unwrap_or(Checkpoint { seq: 0, hash: String::new() });
            pruning.heads.push(Head { session_id: id.to_owned(), at });
            pruning.files.push((path.clone(), file));
            gone.insert(id);
        }
        // Sessions that were pruned earlier and that a remaining one still refers to are listed again: the record that
        // listed them is pruned now, and without it they would count as missing.
        let stays = |id: &&String| !gone.contains(id.as_str());
        let first = |id: &String| chain.openings.get(id).and_then(Option::as_ref).map(|(_, opening)| opening);
        let named: BTreeSet<&str> = chain
            .openings
            .keys()
            .filter(stays)
            .filter_map(|id| Some(first(id)?.before.as_ref()?.session_id.as_str()))
            .collect();
        let earlier =
            gone.iter().filter_map(|id| first(&(*id).to_owned())).flat_map(|opening| &opening.pruned);
        let carried: Vec<Head> =
            earlier.filter(|head| named.contains(head.session_id.as_str())).cloned().collect();
        pruning.heads.extend(carried);
        Ok(pruning)
    }

    /// Removes them, now that it is on record. A head goes before its log: a log without a head can still be read.
    pub(super) fn carry_out(self, heads: Option<&Heads>) -> io::Result<()> {
        for (path, _file) in self.files {
            if let (Some(heads), Some(id)) = (heads, session_of(&path)) {
                heads.remove(id)?;
            }
            std::fs::remove_file(path)?;
        }
        Ok(())
    }
}
