//! Files of Kubernetes objects: single ones, folders, or standard input; read once or followed live.
//!
//! A folder stands for the files in it and in its sub-folders that end in `.yaml`, `.yml`, `.json` or `.ndjson`,
//! in the order of their paths; what begins with a dot is skipped, as are the hidden folders through which
//! Kubernetes updates a mounted ConfigMap. The order of files matters only where two hold the same object: then
//! the later one counts.
//!
//! Following is by looking, not by being told: four times a second each file's size, times and identity are
//! compared. Notifications (inotify) say nothing on network file systems, nor when the link through which a
//! ConfigMap is mounted is turned one folder higher, and are lost together with the folder that they watch;
//! a program that must look anyway need not also be told. A look costs one `stat` a file.
//!
//! What is written is believed only when it has rested: a file is read when two looks found it the same. Then:
//!
//! | what is found | what happens |
//! |---|---|
//! | a file changed | its objects are applied; those that it no longer holds, nor any other file, are gone |
//! | a file is gone from a folder | its objects are gone |
//! | a file or folder that was named is gone, or cannot be read | nothing, until it can be read again |
//! | another folder, without any file, in place of a named one (as when a disk is not mounted) | nothing, until a file is in it |
//! | an empty file | nothing: it is about to be written |
//! | a broken document in a file | the other documents count; of the broken one the last good state stays |

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, Metadata};
use std::io::{self, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use super::document::{self, Format, Found};
use super::{Broken, Event, Key, Wanted};
use evenkeel_core::Kind;

/// How often files are looked at.
const LOOK: Duration = Duration::from_millis(250);
/// How long after something was seen to change.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// A file that is written without end does not hold up the others for longer than this many looks.
const PATIENCE_LOOKS: u32 = 40;
/// File systems tell times no finer than this: a file younger than that may change again unseen.
const TIME_GRAIN: Duration = Duration::from_millis(20);
/// A folder is entered no deeper than this, which ends loops of links.
const DEPTH_MAX: u32 = 16;
/// How standard input is named.
pub const STDIN: &str = "-";
const BUFFER_BYTES: usize = 32 << 10;

/// What makes a reader believe that a file is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Signature {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Signature {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// A later change would show.
    fn is_old(&self, now: SystemTime) -> bool {
        let (seconds, nanos) = self.modified;
        let (Ok(seconds), Ok(nanos)) = (u64::try_from(seconds), u32::try_from(nanos)) else { return true };
        let modified = SystemTime::UNIX_EPOCH + Duration::new(seconds, nanos);
        now.duration_since(modified).is_ok_and(|age| age >= TIME_GRAIN) || modified > now + LOOK
    }
}

/// A file that a path leads to.
struct Listed {
    path: Rc<Path>,
    signature: Signature,
}

/// Finds the files that a path stands for. A file in a folder that vanishes meanwhile is not found.
fn list(path: &Path) -> io::Result<(Signature, Vec<Listed>)> {
    let metadata = fs::metadata(path)?;
    let signature = Signature::of(&metadata);
    let mut files = Vec::new();
    if metadata.is_dir() {
        list_folder(path, 0, &mut files)?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
    } else {
        files.push(Listed { path: path.into(), signature });
    }
    Ok((signature, files))
}

fn list_folder(folder: &Path, depth: u32, files: &mut Vec<Listed>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with('.') {
            continue;
        }
        let path = entry.path();
        let Ok(metadata) = fs::metadata(&path) else { continue };
        if metadata.is_dir() && depth < DEPTH_MAX {
            list_folder(&path, depth + 1, files)?;
        } else if metadata.is_file() && Format::of_name(&name).is_some() {
            files.push(Listed { path: path.into(), signature: Signature::of(&metadata) });
        }
    }
    Ok(())
}

/// Reads one file, or standard input, to its end.
fn read(path: &Path, wanted: Wanted, found: &mut dyn FnMut(Found)) -> io::Result<()> {
    if path.as_os_str() == STDIN {
        return document::read(io::stdin().lock(), None, wanted, found);
    }
    let format = path.file_name().and_then(|name| Format::of_name(&name.to_string_lossy()));
    document::read(BufReader::with_capacity(BUFFER_BYTES, fs::File::open(path)?), format, wanted, found)
}

fn event(path: &Path, found: Found) -> Event {
    match found {
        Found::Object(object, _) => Event::Apply(object),
        Found::Other(kind) => Event::Other(kind),
        Found::Broken { place, what, object } => {
            Event::Broken(Broken { file: path.display().to_string(), place, what, object })
        }
    }
}

/// A path that could not be read.
#[derive(Debug)]
pub struct Unreadable {
    /// The path, as it was named.
    pub path: PathBuf,
    /// Why not.
    pub error: io::Error,
}

/// Reads everything that the paths stand for, once, as a complete list of every kind. The paths that could not
/// be read are given back; the others count.
pub fn read_once(paths: &[PathBuf], wanted: Wanted, take: &mut dyn FnMut(Event)) -> Vec<Unreadable> {
    let mut unreadable = Vec::new();
    for kind in Kind::ALL {
        take(Event::RelistBegin(kind));
    }
    for path in paths {
        let mut fail = |path: &Path, error| unreadable.push(Unreadable { path: path.to_owned(), error });
        let files = if path.as_os_str() == STDIN {
            vec![Rc::from(path.as_path())]
        } else {
            match list(path) {
                Ok((_, files)) => files.into_iter().map(|file| file.path).collect(),
                Err(error) => {
                    fail(path, error);
                    continue;
                }
            }
        };
        for file in files {
            if let Err(error) = read(&file, wanted, &mut |found| take(event(&file, found))) {
                fail(&file, error);
            }
        }
    }
    for kind in Kind::ALL {
        take(Event::RelistEnd(kind));
    }
    take(Event::Seal(None));
    unreadable
}

/// Files that are followed.
pub struct Follower {
    roots: Vec<Root>,
    /// By the order in which they were named, then by path.
    files: BTreeMap<FileKey, File>,
    /// Which files hold an object; nearly always one.
    holders: HashMap<Key, Vec<FileKey>>,
    wanted: Wanted,
    /// The first list has begun.
    begun: bool,
    /// Every root has been read once, and the first list is complete.
    listed: bool,
    /// How many looks in a row found something that had not come to rest.
    unsettled_looks: u32,
}

/// What a look found.
#[derive(Default)]
struct Due {
    /// To be read.
    files: Vec<(FileKey, Option<Signature>)>,
    gone: Vec<FileKey>,
    /// Something has not come to rest.
    unsettled: bool,
    /// Some root is read for the first time.
    first: bool,
}

type FileKey = (usize, Rc<Path>);

/// A path that was named.
struct Root {
    path: PathBuf,
    /// Its identity when it was last read.
    device_inode: Option<(u64, u64)>,
    /// What the last look found.
    paths: Vec<Rc<Path>>,
    read_once: bool,
    /// What was last said about it, so that it is said once.
    complaint: Option<String>,
}

#[derive(Default)]
struct File {
    /// When it was read.
    read: Option<Signature>,
    /// At the last look.
    seen: Option<Signature>,
    keys: HashSet<Key>,
    complaint: Option<String>,
}

impl Follower {
    /// Follows these paths; nothing is read yet.
    #[must_use]
    pub fn new(paths: &[PathBuf], wanted: Wanted) -> Self {
        let root = |path: &PathBuf| Root {
            path: path.clone(),
            device_inode: None,
            paths: Vec::new(),
            read_once: false,
            complaint: None,
        };
        Self {
            roots: paths.iter().map(root).collect(),
            files: BTreeMap::new(),
            holders: HashMap::new(),
            wanted,
            begun: false,
            listed: false,
            unsettled_looks: 0,
        }
    }

    /// Whether something is named that can change: not if there is standard input alone.
    #[must_use]
    pub fn can_change(&self) -> bool {
        self.roots.iter().any(|root| root.path.as_os_str() != STDIN)
    }

    /// Looks once. What changed and has rested is handed over, followed by a seal; answers when to look again.
    pub fn look(&mut self, take: &mut dyn FnMut(Event)) -> Duration {
        if !std::mem::replace(&mut self.begun, true) {
            for kind in Kind::ALL {
                take(Event::RelistBegin(kind));
            }
        }
        let mut due = Due::default();
        for index in 0..self.roots.len() {
            self.look_at(index, &mut due, take);
        }
        // An object that moves from one file to another must not be gone in between.
        if due.unsettled && !due.first && self.unsettled_looks < PATIENCE_LOOKS {
            self.unsettled_looks += 1;
            return LOOK_AGAIN;
        }
        self.unsettled_looks = 0;
        let mut changed = !due.files.is_empty();
        let mut gone: Vec<(Key, FileKey)> = Vec::new();
        for (key, signature) in due.files {
            let no_longer = self.read_file(&key, signature, take);
            gone.extend(no_longer.into_iter().map(|object| (object, key.clone())));
        }
        for key in due.gone {
            let file = self.files.remove(&key).unwrap_or_default();
            gone.extend(file.keys.into_iter().map(|object| (object, key.clone())));
        }
        changed |= !gone.is_empty();
        for (object, file) in gone {
            self.let_go(&object, &file, take);
        }
        if !self.listed && self.roots.iter().all(|root| root.read_once) {
            self.listed = true;
            changed = true;
            for kind in Kind::ALL {
                take(Event::RelistEnd(kind));
            }
        }
        if changed {
            take(Event::Seal(None));
        }
        if due.unsettled { LOOK_AGAIN } else { LOOK }
    }

    fn look_at(&mut self, index: usize, due: &mut Due, take: &mut dyn FnMut(Event)) {
        let root = &mut self.roots[index];
        if root.path.as_os_str() == STDIN {
            if !std::mem::replace(&mut root.read_once, true) {
                due.files.push(((index, root.path.as_path().into()), None));
            }
            return;
        }
        let (signature, listed) = match list(&root.path) {
            Ok(listed) => listed,
            Err(error) => return root.complain(&error.to_string(), take),
        };
        let identity = (signature.device, signature.inode);
        if listed.is_empty() && root.device_inode.is_some_and(|known| known != identity) {
            return root.complain("another folder stands in its place, and it is empty", take);
        }
        if root.complaint.take().is_some() {
            take(Event::Warning(format!("{}: can be read again", root.path.display())));
        }
        root.device_inode = Some(identity);
        let first = !std::mem::replace(&mut root.read_once, true);
        let paths: Vec<Rc<Path>> = listed.iter().map(|file| Rc::clone(&file.path)).collect();
        let rested = paths == root.paths;
        root.paths = paths;
        due.first |= first;
        due.unsettled |= !first && !rested;

        let now = SystemTime::now();
        for Listed { path, signature } in listed {
            let key = (index, path);
            let file = self.files.entry(key.clone()).or_default();
            if file.read == Some(signature) {
                continue;
            }
            let same = file.seen.replace(signature) == Some(signature);
            if first || (same && signature.is_old(now)) {
                due.files.push((key, Some(signature)));
            } else {
                due.unsettled = true;
            }
        }
        if rested {
            let paths = &self.roots[index].paths;
            due.gone.extend(
                self.files
                    .range((index, Rc::from(Path::new("")))..)
                    .map(|(key, _)| key)
                    .take_while(|(root, _)| *root == index)
                    .filter(|(_, path)| paths.binary_search(path).is_err())
                    .cloned(),
            );
        }
    }

    /// Reads a file and hands over its objects. Answers which objects it no longer holds.
    fn read_file(
        &mut self,
        key: &FileKey,
        signature: Option<Signature>,
        take: &mut dyn FnMut(Event),
    ) -> Vec<Key> {
        let path = &key.1;
        let mut file = self.files.remove(key).unwrap_or_default();
        if signature.is_some_and(|signature| signature.size == 0) && !file.keys.is_empty() {
            take(Event::Warning(format!(
                "{}: empty: its last objects stay until it is written",
                path.display()
            )));
            file.read = signature;
            self.files.insert(key.clone(), file);
            return Vec::new();
        }
        let mut keys = HashSet::new();
        let mut kept: Vec<Key> = Vec::new();
        let mut keep_all = false;
        let result = read(path, self.wanted, &mut |found| match found {
            Found::Object(object, place) => {
                let object_key = Key::of(&object);
                if !keys.insert(object_key.clone()) {
                    take(Event::Warning(format!(
                        "{}: {place}: {object_key} stands twice in this file; the later one counts",
                        path.display()
                    )));
                }
                let holders = self.holders.entry(object_key.clone()).or_default();
                if !holders.contains(key) {
                    holders.push(key.clone());
                    holders.sort();
                    if let [.., (_, other), (_, last)] = holders.as_slice() {
                        take(Event::Warning(format!(
                            "{object_key} stands in {} and in {}; the latter counts",
                            other.display(),
                            last.display()
                        )));
                    }
                }
                if holders.last() == Some(key) {
                    take(Event::Apply(object));
                }
            }
            other => {
                if let Found::Broken { object, .. } = &other {
                    match object {
                        Some(object) => kept.push(object.clone()),
                        None => keep_all = true,
                    }
                }
                take(event(path, other));
            }
        });
        match result {
            Ok(()) => {
                file.complaint = None;
                file.read = signature;
            }
            Err(error) => {
                let text = error.to_string();
                if file.complaint.as_deref() != Some(&text) {
                    take(Event::Warning(format!("{}: {text}: its last objects stay", path.display())));
                }
                file.complaint = Some(text);
                keep_all = true;
            }
        }
        let (stay, gone): (Vec<Key>, Vec<Key>) = std::mem::take(&mut file.keys)
            .into_iter()
            .filter(|object| !keys.contains(object))
            .partition(|object| keep_all || kept.contains(object));
        keys.extend(stay);
        file.keys = keys;
        self.files.insert(key.clone(), file);
        gone
    }

    /// This file no longer holds the object. Another that does is read again, else the object is gone.
    fn let_go(&mut self, object: &Key, file: &FileKey, take: &mut dyn FnMut(Event)) {
        let Some(holders) = self.holders.get_mut(object) else { return };
        let counted = holders.last() == Some(file);
        holders.retain(|holder| holder != file);
        match holders.last().cloned() {
            None => {
                self.holders.remove(object);
                take(Event::Delete(object.clone()));
            }
            Some(other) if counted => {
                // What is wrong with that file was said when it was read for itself.
                let _ = read(&other.1, self.wanted, &mut |found| match found {
                    Found::Object(found, _) if Key::of(&found) == *object => take(Event::Apply(found)),
                    _ => {}
                });
            }
            Some(_) => {}
        }
    }
}

impl Root {
    fn complain(&mut self, why: &str, take: &mut dyn FnMut(Event)) {
        if self.complaint.as_deref() != Some(why) {
            take(Event::Warning(format!(
                "{}: {why}: nothing is withdrawn until it can be read",
                self.path.display()
            )));
            self.complaint = Some(why.to_owned());
        }
    }
}

#[cfg(test)]
mod tests;
