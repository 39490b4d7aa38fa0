//! The measure `session`.

use crate::{assert_keys, measured};

#[test]
fn session_measures_each_store_at_each_length() {
    let found = measured(&[
        "session",
        "--stores",
        "memory,sqlite",
        "--sizes",
        "20,100",
        "--rounds",
        "1",
        "--samples",
        "2",
    ]);
    let stores = found["stores"].as_array().unwrap();
    let names: Vec<_> = stores.iter().map(|store| store["store"].as_str().unwrap()).collect();
    assert_eq!(names, ["memory", "sqlite"]);
    for store in stores {
        assert_keys(store, &["store", "bare_append_us", "sizes"]);
        let sizes = store["sizes"].as_array().unwrap();
        let lengths: Vec<_> = sizes.iter().map(|size| size["messages"].as_u64().unwrap()).collect();
        assert_eq!(lengths, [20, 100]);
        for size in sizes {
            assert_keys(size, &["messages", "load_us", "assemble_us", "append_step_us", "bytes_per_turn"]);
        }
    }
    assert!(stores[1]["bare_append_us"].is_number() && stores[1]["sizes"][0]["bytes_per_turn"].is_number());
}
