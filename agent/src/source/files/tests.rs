use super::*;
use crate::source::document::Place;
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder that is gone when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("evenkeel-files-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("written");
    }

    fn remove(&self, name: &str) {
        fs::remove_file(self.0.join(name)).expect("removed");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn nodes(names: &[&str]) -> String {
    names.iter().map(|name| format!("---\nkind: Node\nmetadata: {{name: {name}}}\n")).collect()
}

fn follower(paths: &[&Path]) -> Follower {
    let paths: Vec<PathBuf> = paths.iter().map(|path| (*path).to_owned()).collect();
    Follower::new(&paths, Wanted::ALL)
}

/// Looks until something is sealed, or so often that it would have been. What was handed over, in a few words.
fn looks(follower: &mut Follower) -> Vec<String> {
    let mut events = Vec::new();
    for _ in 0..8 {
        let mut sealed = false;
        let mut pause = follower.look(&mut |event| match event {
            Event::Apply(object) => events.push(format!("apply {}", Key::of(&object))),
            Event::Delete(key) => events.push(format!("delete {key}")),
            Event::Broken(Broken { place: Place { document, .. }, object, .. }) => {
                events.push(format!(
                    "broken {document} {}",
                    object.map(|key| key.to_string()).unwrap_or_default()
                ));
            }
            Event::Warning(text) => {
                events.push(format!("warning {}", text.rsplit(": ").next().unwrap_or_default()))
            }
            Event::Seal(_) => sealed = true,
            _ => {}
        });
        if sealed {
            break;
        }
        // The times of files must be told apart; what is waited for is decided by looks, not by time.
        pause = pause.min(TIME_GRAIN * 2);
        std::thread::sleep(pause);
    }
    events
}

#[test]
fn an_edit_gives_what_changed_in_that_file() {
    let folder = Folder::new();
    folder.write("a.yaml", &nodes(&["a", "b"]));
    folder.write("b.yaml", &nodes(&["c"]));
    let mut follower = follower(&[&folder.0]);
    assert_eq!(looks(&mut follower), ["apply Node a", "apply Node b", "apply Node c"]);
    assert!(looks(&mut follower).is_empty());
    folder.write("a.yaml", &nodes(&["b", "d"]));
    assert_eq!(looks(&mut follower), ["apply Node b", "apply Node d", "delete Node a"]);
}

#[test]
fn files_are_found_by_their_endings_in_order_and_hidden_ones_are_not() {
    let folder = Folder::new();
    for name in
        ["z.yml", "sub/deep/m.json", "a.yaml", "notes.txt", ".hidden.yaml", ".git/x.yaml", "README.md"]
    {
        let text = if name.ends_with("json") {
            "{\"kind\":\"Node\",\"metadata\":{\"name\":\"m\"}}".to_owned()
        } else {
            nodes(&[&name.replace(['/', '.'], "-")])
        };
        folder.write(name, &text);
    }
    let mut follower = follower(&[&folder.0]);
    assert_eq!(looks(&mut follower), ["apply Node a-yaml", "apply Node m", "apply Node z-yml"]);
}

#[test]
fn an_object_that_moves_to_another_file_is_never_gone() {
    let folder = Folder::new();
    folder.write("a.yaml", &nodes(&["a", "b"]));
    folder.write("z.yaml", &nodes(&["z"]));
    let mut follower = follower(&[&folder.0]);
    looks(&mut follower);
    folder.write("a.yaml", &nodes(&["b"]));
    folder.write("z.yaml", &nodes(&["z", "a"]));
    let events = looks(&mut follower);
    assert!(events.contains(&"apply Node a".to_owned()), "{events:?}");
    assert!(!events.iter().any(|event| event.starts_with("delete")), "{events:?}");
}

#[test]
fn the_later_of_two_files_counts_and_the_earlier_again_when_it_is_gone() {
    let folder = Folder::new();
    folder.write("a.yaml", &nodes(&["a"]));
    folder.write("b.yaml", &nodes(&["a"]));
    let mut follower = follower(&[&folder.0]);
    let events = looks(&mut follower);
    assert_eq!(events.len(), 3, "{events:?}");
    assert!(events[1].contains("the latter counts") && events[2] == "apply Node a", "{events:?}");
    folder.write("a.yaml", &nodes(&["a", "b"]));
    assert_eq!(looks(&mut follower), ["apply Node b"]);
    folder.remove("b.yaml");
    assert_eq!(looks(&mut follower), ["apply Node a"]);
    folder.remove("a.yaml");
    let mut events = looks(&mut follower);
    events.sort();
    assert_eq!(events, ["delete Node a", "delete Node b"]);
}

#[test]
fn a_folder_that_vanishes_withdraws_nothing_until_it_can_be_read_again() {
    let folder = Folder::new();
    folder.write("m/a.yaml", &nodes(&["a"]));
    let root = folder.0.join("m");
    let mut follower = follower(&[&root]);
    looks(&mut follower);
    fs::rename(&root, folder.0.join("away")).expect("renamed");
    assert_eq!(looks(&mut follower), ["warning nothing is withdrawn until it can be read"]);
    // An empty folder in its place is a disk that is not mounted.
    fs::create_dir(&root).expect("a folder");
    assert_eq!(looks(&mut follower), ["warning nothing is withdrawn until it can be read"]);
    fs::remove_dir(&root).expect("removed");
    fs::rename(folder.0.join("away"), &root).expect("renamed");
    let events = looks(&mut follower);
    assert!(!events.iter().any(|event| event.starts_with("delete")), "{events:?}");
    folder.remove("m/a.yaml");
    assert_eq!(looks(&mut follower), ["delete Node a"]);
}

#[test]
fn a_broken_document_keeps_its_last_good_state_and_an_unreadable_one_keeps_all() {
    let folder = Folder::new();
    folder.write("a.yaml", &nodes(&["a", "b"]));
    let mut follower = follower(&[&folder.0]);
    looks(&mut follower);
    folder.write("a.yaml", "kind: Node\nmetadata: {name: a}\nspec: 7\n");
    assert_eq!(looks(&mut follower), ["broken 1 Node a", "delete Node b"]);
    folder.write("a.yaml", "kind: Node\nmetadata: {name: c");
    assert_eq!(looks(&mut follower), ["broken 1 "]);
    folder.write("a.yaml", &nodes(&["c"]));
    assert_eq!(looks(&mut follower), ["apply Node c", "delete Node a"]);
}

#[test]
fn an_empty_file_is_about_to_be_written() {
    let folder = Folder::new();
    folder.write("a.yaml", &nodes(&["a"]));
    let mut follower = follower(&[&folder.0]);
    looks(&mut follower);
    folder.write("a.yaml", "");
    assert_eq!(looks(&mut follower), ["warning its last objects stay until it is written"]);
    folder.write("a.yaml", "# nothing any more\n");
    assert_eq!(looks(&mut follower), ["delete Node a"]);
}

#[test]
fn nothing_is_complete_before_every_path_was_read() {
    let folder = Folder::new();
    folder.write("a.yaml", &nodes(&["a"]));
    let late = folder.0.join("late.yml");
    let mut follower = follower(&[&folder.0.join("a.yaml"), &late]);
    let ended = |follower: &mut Follower| {
        let mut ended = 0;
        follower.look(&mut |event| ended += u32::from(matches!(event, Event::RelistEnd(_))));
        ended
    };
    assert_eq!(ended(&mut follower), 0);
    fs::write(&late, nodes(&["b"])).expect("written");
    assert_eq!(ended(&mut follower), 4);
    assert_eq!(ended(&mut follower), 0);
}

#[test]
fn an_edit_by_renaming_is_an_edit() {
    let folder = Folder::new();
    folder.write("a.yaml", &nodes(&["a"]));
    let path = folder.0.join("a.yaml");
    let mut follower = follower(&[&path]);
    looks(&mut follower);
    folder.write(".a.yaml.swp", &nodes(&["b"]));
    fs::rename(folder.0.join(".a.yaml.swp"), &path).expect("renamed");
    assert_eq!(looks(&mut follower), ["apply Node b", "delete Node a"]);
}
