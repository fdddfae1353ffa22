//! The shortest story that still fails, and how it is printed: as a scenario.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use serde_json::Value;

use crate::story::{Op, Story, key, tell};

/// A story that is still being told after this will not end.
const PATIENCE: Duration = Duration::from_secs(60);

thread_local! {
    /// Whoever waits for the stories of this thread: it is told when one begins, and when it has ended.
    static WATCHED: Sender<Option<Story>> = {
        let (sender, stories) = channel();
        std::thread::spawn(move || watch(&stories));
        sender
    };
}

/// A loop without end cannot be stopped from outside: the whole test ends, and says with which story.
fn watch(stories: &Receiver<Option<Story>>) {
    while let Ok(begun) = stories.recv() {
        let Some(story) = begun else { continue };
        if let Err(std::sync::mpsc::RecvTimeoutError::Timeout) = stories.recv_timeout(PATIENCE) {
            // Not by the macro, whose text the test harness would keep to itself.
            let _ = writeln!(std::io::stderr(), "this story does not end:\n{}", print(&story));
            std::process::exit(101);
        }
    }
}

/// Tells a story; a panic is a failure like others.
pub(crate) fn failure(story: &Story) -> Option<String> {
    let tell_watcher = |what| WATCHED.with(|watcher| watcher.send(what).expect("a watcher"));
    tell_watcher(Some(story.clone()));
    let told = catch_unwind(AssertUnwindSafe(|| tell(story)));
    tell_watcher(None);
    match told {
        Ok(result) => result.err(),
        Err(panic) => {
            let message = panic.downcast_ref::<String>().cloned();
            let message = message.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
            Some(format!("a panic: {}", message.unwrap_or_default()))
        }
    }
}

/// What a failure is about: its first line without numbers. A shorter story must fail in the same way.
fn about(why: &str) -> String {
    let line = why.lines().next().unwrap_or("");
    let about = line.split_once(": ").map_or(line, |(_, about)| about);
    about.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// Leaves out whatever is not needed for the failure: operations first, then parts of objects.
pub(crate) fn shrink(mut story: Story) -> Story {
    let kind = about(&failure(&story).unwrap_or_default());
    let still_fails = |story: &Story| failure(story).is_some_and(|why| about(&why) == kind);
    loop {
        let before = story.ops.clone();
        story = without_operations(story, &still_fails);
        story = with_smaller_objects(story, &still_fails);
        if story.ops == before {
            return story;
        }
    }
}

fn without_operations(mut story: Story, still_fails: &dyn Fn(&Story) -> bool) -> Story {
    let mut size = story.ops.len().div_ceil(2);
    while size > 0 {
        let mut at = 0;
        while at < story.ops.len() {
            let mut shorter = story.clone();
            shorter.ops.drain(at..(at + size).min(story.ops.len()));
            if still_fails(&shorter) {
                story = shorter;
            } else {
                at += size;
            }
        }
        size /= 2;
    }
    story
}

fn with_smaller_objects(mut story: Story, still_fails: &dyn Fn(&Story) -> bool) -> Story {
    for at in 0..story.ops.len() {
        let objects = match &story.ops[at] {
            Op::Apply(_) => 1,
            Op::Relist(_, objects) => objects.len(),
            _ => 0,
        };
        for index in 0..objects {
            let mut skip = 0;
            loop {
                let mut smaller = story.clone();
                let object = match &mut smaller.ops[at] {
                    Op::Apply(object) => object,
                    Op::Relist(_, objects) => &mut objects[index],
                    _ => break,
                };
                if !cut(object, &mut skip.clone()) {
                    break;
                }
                if still_fails(&smaller) {
                    story = smaller;
                } else {
                    skip += 1;
                }
            }
        }
    }
    story
}

/// Takes the part with this number out; false if there are not so many. Names stay.
fn cut(value: &mut Value, number: &mut usize) -> bool {
    let mut take = || {
        let taken = *number == 0;
        *number = number.wrapping_sub(1);
        taken
    };
    match value {
        Value::Array(list) => {
            for at in 0..list.len() {
                if take() {
                    list.remove(at);
                    return true;
                }
            }
            list.iter_mut().any(|item| cut(item, number))
        }
        Value::Object(fields) => {
            let keys: Vec<String> = fields.keys().filter(|key| !is_name(key)).cloned().collect();
            for key in keys {
                if take() {
                    fields.remove(&key);
                    return true;
                }
            }
            fields.values_mut().any(|field| cut(field, number))
        }
        _ => false,
    }
}

fn is_name(key: &str) -> bool {
    ["kind", "metadata", "name", "namespace"].contains(&key)
}

/// As a scenario. What is no verb of scenarios is a comment.
pub(crate) fn print(story: &Story) -> String {
    let mut out = format!("# {:?}\n# {:?}\nsteps:\n", story.setup, story.limits);
    for op in &story.ops {
        out += &match op {
            Op::Apply(object) => format!("  - apply: [{object}]\n"),
            Op::Delete(object) => {
                let (kind, namespace, name) = key(object);
                let name = if namespace.is_empty() { name } else { format!("{namespace}/{name}") };
                format!("  - delete: [\"{kind} {name}\"]\n")
            }
            Op::Relist(kind, objects) => {
                format!("  - relist: {{{}: {}}}\n", kind.text(), Value::Array(objects.clone()))
            }
            Op::Seal => "  - seal:\n".to_owned(),
            other => format!("  # {other:?}\n"),
        };
    }
    out
}
