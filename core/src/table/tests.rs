use super::*;

ids!(
    /// A test's row.
    TestId
);

#[derive(Clone, Copy, Debug, PartialEq)]
struct Pair(u64, u64);

impl Entry for Pair {
    type Id = TestId;
    const EMPTY: Self = Self(0, 0);
}

fn hash(key: u64) -> u32 {
    hash_of(7, key, 0)
}

#[test]
fn every_row_can_be_used_and_the_next_is_refused() {
    let (mut rows, mut index) = ([Row::EMPTY; 5], [0; 5]);
    let mut table = Table::new(&mut rows, &mut index);
    for key in 1..=5 {
        assert!(table.insert(hash(key), Pair(key, key * 10)).is_some());
    }
    assert_eq!(table.insert(hash(6), Pair(6, 60)), None);
    for key in 1..=5 {
        let id = table.find(hash(key), |row| row.0 == key).unwrap();
        assert_eq!(table.at(id).1, key * 10);
    }
}

#[test]
fn a_number_that_names_no_row_reads_as_empty_and_writes_to_nowhere() {
    let mut rows = [Row::EMPTY; 1];
    let mut table = Pool::new(&mut rows);
    *table.at_mut(TestId::NONE) = Pair(1, 1);
    assert_eq!(*table.at_mut(TestId(77)), Pair(0, 0));
    assert_eq!(table.len(), 0);
}

#[test]
fn random_operations_agree_with_a_standard_map() {
    let (mut rows, mut index) = ([Row::<Pair>::EMPTY; 300], [0; 300]);
    let mut table = Table::new(&mut rows, &mut index);
    let mut map = std::collections::HashMap::new();
    let mut state = 1u64;
    for _ in 0..60_000 {
        state = fold(state.wrapping_add(STIR), STIR);
        let key = state % 400 + 1;
        let found = table.find(hash(key), |row| row.0 == key);
        assert_eq!(found.map(|id| table.at(id).1), map.get(&key).copied());
        match (state >> 32) % 3 {
            0 if found.is_none() => {
                if table.insert(hash(key), Pair(key, state)).is_some() {
                    map.insert(key, state);
                } else {
                    assert_eq!(map.len(), 300);
                }
            }
            1 => {
                if let Some(id) = found {
                    table.remove(hash(key), id);
                    map.remove(&key);
                }
            }
            _ => {
                if let Some(id) = found {
                    table.at_mut(id).1 = state;
                    map.insert(key, state);
                }
            }
        }
        assert_eq!(table.len() as usize, map.len());
    }
    let (mut larger, mut index) = ([Row::EMPTY; 450], [0; 450]);
    let mut moved = Table::new(&mut larger, &mut index);
    table.copy_to(&mut moved, |row| hash(row.0));
    assert_eq!(moved.len(), table.len());
    for (id, row) in table.iter() {
        assert_eq!(moved.find(hash(row.0), |other| other.0 == row.0), Some(id));
    }
    while moved.room() > 0 {
        assert!(moved.insert(hash(9_999), Pair(9_999, 0)).is_some());
    }
    assert_eq!(moved.iter().count(), 450);
}

#[test]
fn equal_bytes_of_any_length_are_the_same_and_one_other_byte_is_not() {
    for len in 0..40usize {
        let bytes: Vec<u8> = (0..len).map(|at| u8::try_from(at).unwrap()).collect();
        assert!(same(&bytes, &bytes.clone()));
        assert!(!same(&bytes, &[&bytes[..], &[0]].concat()));
        for at in 0..len {
            let mut other = bytes.clone();
            other[at] ^= 1;
            assert!(!same(&bytes, &other), "{len} {at}");
        }
    }
}
