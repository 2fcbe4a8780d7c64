use super::{Fixture, person, request};
use crate::model::{CompareOp, OrderBy, Predicate, TypeRef, Value};
use crate::read::scan::scan;
use futures::TryStreamExt;
use serde_json::json;

fn rss() -> (u64, u64) {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let get = |k: &str| text.lines().find(|l| l.starts_with(k)).unwrap().split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024;
    (get("VmRSS"), get("VmHWM"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore]
async fn memory() {
    let dir = std::env::temp_dir().join(format!("ogmem-{}", std::env::var("OGMEM").unwrap_or_default()));
    let fresh = !dir.exists();
    let fixture = Fixture::at(dir.to_str().unwrap(), super::PEOPLE, fresh).await;
    if fresh {
        for chunk in 0..20 {
            let text: String = (0..50_000)
                .map(|n| {
                    let n = chunk * 50_000 + n;
                    person(&format!("person-{n:08}"), json!({"age": n % 97, "repoName": format!("{:0>200}", n), "order": n * 7 % 1_000_003, "weight": n as f64 / 3.0, "tags": ["a", "bb"], "face": [0.5, n as f32]}))
                })
                .collect();
            fixture.add(&[text]).await;
        }
        println!("written {:?}", rss());
        return;
    }
    println!("start {:?}", rss());
    let snapshot = fixture.snapshot().await;
    let mode = std::env::var("MODE").unwrap_or_default();
    let mut request = request("Person");
    match mode.as_str() {
        "sort" => request.order = vec![OrderBy { property: "order".into(), descending: true }],
        "filter" => request.predicate = Some(Predicate::Compare { property: "age".into(), op: CompareOp::Gt, value: Value::I64(10) }),
        "topk" => {
            request.order = vec![OrderBy { property: "order".into(), descending: true }];
            request.limit = Some(100);
        }
        _ => {}
    }
    let began = std::time::Instant::now();
    if mode == "export" {
        let mut n = 0;
        let mut chunks = crate::read::export::export(fixture.core.clone(), snapshot);
        while let Some(chunk) = chunks.try_next().await.unwrap() {
            n += chunk.len();
        }
        println!("export {n} bytes {:?} {:?}", began.elapsed(), rss());
        return;
    }
    if mode == "get" {
        for _ in 0..3 {
            let began = std::time::Instant::now();
            let got = crate::read::get::by_ids(&fixture.core, &snapshot, &TypeRef::node("Person"), &["person-00500000".into()]).await.unwrap();
            println!("get {} {:?} {:?}", got.len(), began.elapsed(), rss());
        }
        for _ in 0..3 {
            let began = std::time::Instant::now();
            let got = crate::read::get::by_predicate(&fixture.core, &snapshot, &TypeRef::node("Person"), None, Some("person-00500000"), 100).await.unwrap();
            println!("page {} {:?} {:?}", got.len(), began.elapsed(), rss());
        }
        return;
    }
    let mut rows = scan(&fixture.core, &snapshot, &request, None).await.unwrap().batches;
    let (mut n, mut batches, mut biggest) = (0, 0, 0);
    let mut last = i64::MAX;
    while let Some(batch) = rows.try_next().await.unwrap() {
        if mode == "sort" {
            use arrow_array::cast::AsArray;
            let order = batch.column_by_name("order").unwrap().as_primitive::<arrow_array::types::Int64Type>().clone();
            for v in order.values() {
                assert!(*v <= last);
                last = *v;
            }
        }
        n += batch.num_rows();
        batches += 1;
        biggest = biggest.max(batch.get_array_memory_size());
    }
    println!("{mode} {n} rows {batches} batches biggest {biggest} {:?} {:?}", began.elapsed(), rss());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore]
async fn wide() {
    let dir = std::env::temp_dir().join("ogwide");
    let fresh = !dir.exists();
    let columns: String = (0..40).map(|n| format!("c{n}: String?\n")).collect();
    let fixture = Fixture::at(dir.to_str().unwrap(), &format!("node W {{ slug: String @key\n {columns} }}"), fresh).await;
    if fresh {
        let text: String = (0..50_000)
            .map(|n| {
                let mut data = json!({"slug": format!("s{n:06}")});
                for c in 0..40 {
                    let seed = fastrand::u64(..);
                    data[format!("c{c}")] = (0..11).map(|k| format!("{:016x}", seed.wrapping_mul(k * 2 + 1))).collect::<String>().into();
                }
                format!("{}\n", json!({"type": "W", "data": data}))
            })
            .collect();
        fixture.add(&[text]).await;
        println!("written {:?}", rss());
        return;
    }
    let snapshot = fixture.snapshot().await;
    for order in [false, true] {
        let began = std::time::Instant::now();
        let mut request = request("W");
        if order {
            request.order = vec![OrderBy { property: "c3".into(), descending: false }];
        }
        let mut rows = scan(&fixture.core, &snapshot, &request, None).await.unwrap().batches;
        let (mut n, mut biggest) = (0, 0);
        while let Some(batch) = rows.try_next().await.unwrap() {
            n += batch.num_rows();
            biggest = biggest.max(batch.get_array_memory_size());
        }
        println!("wide {order} {n} {biggest} {:?} {:?}", began.elapsed(), rss());
    }
}
