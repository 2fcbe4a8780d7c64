//! What a plan decides without reading.

use super::*;

fn fragments(rows: &[u64]) -> Vec<FragmentInfo> {
    rows.iter()
        .zip(0..)
        .map(|(rows, id)| FragmentInfo { id, physical_rows: rows + 1, live_rows: *rows, deletion_tag: None })
        .collect()
}

#[test]
fn parts_are_balanced_and_hold_every_live_fragment_once() {
    let unit = limits::MIN_PART_ROWS;
    let cases: [(&[u64], usize, usize); 9] = [
        (&[], 8, 1),
        (&[unit * 9], 8, 1),
        (&[1, 1, 1], 8, 1),
        (&[unit, unit], 1, 1),
        (&[unit, unit], 8, 2),
        (&[unit, 0, unit], 8, 2),
        (&[unit, unit, unit, unit, unit], 2, 2),
        (&[unit / 2; 8], 8, 4),
        (&[unit * 4, unit, unit, unit, unit], 2, 2),
    ];
    for (rows, max_parts, count) in cases {
        let fragments = fragments(rows);
        let parts = spread(&fragments, max_parts);
        assert_eq!(parts.len(), count, "{rows:?} over {max_parts}");
        if count == 1 {
            assert_eq!(parts, vec![Vec::<u64>::new()]);
            continue;
        }
        let mut all: Vec<u64> = parts.concat();
        all.sort_unstable();
        let live: Vec<u64> = fragments.iter().filter(|f| f.live_rows > 0).map(|f| f.id).collect();
        assert_eq!(all, live);
        let load = |part: &Vec<u64>| part.iter().map(|id| rows[*id as usize]).sum::<u64>();
        let (least, most) = (parts.iter().map(load).min().unwrap(), parts.iter().map(load).max().unwrap());
        assert!(most - least <= *rows.iter().max().unwrap(), "{parts:?}");
    }
}

#[test]
fn the_id_makes_an_order_total_and_is_added_once() {
    let by = |property: &str, descending| OrderBy { property: property.into(), descending };
    let keys = |order: &[OrderBy]| -> Vec<String> {
        sort_keys(order).into_iter().map(|(c, d)| format!("{c}{}", if d { "-" } else { "+" })).collect()
    };
    assert!(keys(&[]).is_empty());
    assert_eq!(keys(&[by("age", true)]), ["age-", "id+"]);
    assert_eq!(keys(&[by("id", true)]), ["id-"]);
    assert_eq!(keys(&[by("age", false), by("age", true), by("id", false)]), ["age+", "id+"]);
}

#[test]
fn fragments_of_a_part_must_exist_and_differ() {
    let known = fragments(&[1, 1]);
    assert!(check_fragments(&[1, 0], &known).is_ok());
    for wrong in [&[2_u64][..], &[0, 0]] {
        assert_eq!(check_fragments(wrong, &known).unwrap_err().reason(), Reason::InvalidTicket);
    }
}
