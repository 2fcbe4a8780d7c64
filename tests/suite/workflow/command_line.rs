//! The workflow in commands.

use super::*;

const CRAWL: &str = "agent/crawl-7";

/// Walks through it. The graph is there and empty.
pub(super) async fn review(cli: &Cli) {
    let people = cli.file("people.jsonl", &(person("ada", 36) + &person("bob", 1) + &knows("ada", "bob")));
    assert_eq!(cli.run(1, &["load", &people]).await.code, Some(0));
    let loaded = cli.head("main").await;
    assert_eq!(cli.json(&["branch", "protect", "main"]).await["protected"], true);
    cli.refused(1, &["load", &people, "--mode", "merge"], 4, Some("BRANCH_PROTECTED")).await;
    cli.json(&["branch", "create", CRAWL]).await;
    cli.json(&["branch", "create", "other"]).await;
    let found = cli.file("found.jsonl", &(person("ada", 38) + &person("grace", 85)));
    let words = ["load", &found, "--branch", CRAWL, "--mode", "merge", "--message", "crawl"];
    assert_eq!(cli.run(1, &words).await.code, Some(0));
    cli.age("other", 37).await;
    let forward = cli.json(&["branch", "merge", "other", "--delete-source"]).await;
    assert_eq!((&forward["outcome"], &forward["source_deletion"]["deleted"]), (&"fast_forward".into(), &true.into()));
    look(cli).await;
    merge(cli, &loaded).await;
    take_back(cli).await;
    follow(cli, &loaded).await;
}

/// The reviewer compares, and asks what a merge would do.
async fn look(cli: &Cli) {
    let text = cli.text(&["branch", "diff", CRAWL]).await;
    assert!(text.contains("~ node:Person/ada\n    - age: 37\n    + age: 38\n+ node:Person/grace\n"), "{text}");
    let lines = cli.lines(&["branch", "diff", "main", CRAWL, "--kind", "insert"]).await;
    assert_eq!((lines.len(), &lines[0]["id"], &lines[0]["before"]), (1, &"grace".into(), &Json::Null));
    let stat = cli.json(&["branch", "diff", CRAWL, "--stat", "--type", "Person"]).await;
    assert_eq!((&stat["counts"][0]["inserted"], &stat["counts"][0]["updated"]), (&1.into(), &1.into()));
    cli.refused(2, &["branch", "diff", "nowhere"], 3, Some("BRANCH_NOT_FOUND")).await;

    let head = cli.head("main").await;
    for words in [&["branch", "merge", CRAWL, "--preview"][..], &["branch", "merge", CRAWL]] {
        let told = cli.refused(2, words, 4, Some("MERGE_CONFLICT")).await;
        let preview: Json = serde_json::from_str(&told.out).unwrap();
        let conflict = &preview["conflicts"][0];
        assert_eq!((&conflict["conflict"], &conflict["id"]), (&"divergent_update".into(), &"ada".into()), "{preview}");
        assert_eq!((&conflict["ours"]["data"]["age"], &conflict["theirs"]["data"]["age"]), (&37.into(), &38.into()));
        assert!(told.err.contains("--resolve"), "{}", told.err);
    }
    let table = cli.run(2, &["branch", "merge", CRAWL]).await;
    assert_eq!(table.code, Some(4));
    let row = table.out.lines().find(|line| line.contains("divergent_update")).unwrap();
    let row: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(row, ["divergent_update", "node:Person", "ada", "age", "36", "37", "38"]);
    assert_eq!(cli.head("main").await, head, "what was refused has changed nothing");
}

/// What was reviewed is merged, named and shown.
async fn merge(cli: &Cli, loaded: &str) {
    let reviewed = cli.head(CRAWL).await;
    cli.refused(2, &["branch", "merge", CRAWL, "--expect-source-head", loaded], 4, Some("HEAD_MOVED")).await;
    cli.refused(2, &["branch", "merge", CRAWL, "--resolve", "Person/ada"], 2, None).await;
    let words = ["branch", "merge", CRAWL, "--resolve", "Person/ada.age=theirs", "--expect-source-head", &reviewed];
    let words = [&words[..], &["--request-id", "merge-7", "--message", "reviewed", "--delete-source"]].concat();
    let merged = cli.json(&words).await;
    assert_eq!((&merged["outcome"], &merged["settled"]), (&"merged".into(), &1.into()), "{merged}");
    assert_eq!(merged["receipt"]["parents"][1], reviewed);
    assert_eq!(merged["source_deletion"]["deleted"], true);
    let again = cli.json(&words).await;
    assert_eq!(again["receipt"]["replayed"], true);
    assert_eq!(again["receipt"]["commit"], merged["receipt"]["commit"]);
    assert_eq!(cli.aged(&[]).await, 38);
    let tag = cli.json(&["tag", "create", "crawl-7", "--message", "with the crawl"]).await;
    assert_eq!(tag["commit"], merged["receipt"]["commit"]);
    let shown = cli.json(&["commit", "show", tag["commit"].as_str().unwrap()]).await;
    assert_eq!(shown["merge"]["source_branch"], CRAWL);
    assert_eq!(shown["merge"]["resolutions"][0]["take"], "theirs");
    let drawn = cli.text(&["commit", "log", "--graph"]).await;
    assert!(drawn.contains("├─╮") && drawn.contains("(main, tag: crawl-7)") && !drawn.contains('\u{1b}'), "{drawn}");
    assert!(drawn.lines().any(|line| line.starts_with("│ ●") && line.contains("crawl")), "{drawn}");
    let log = cli.json(&["commit", "log", "-n", "1"]).await;
    assert_eq!(log[0]["parents"].as_array().unwrap().len(), 2);
}

/// The merge is taken back by way of a branch; the tag keeps it readable.
async fn take_back(cli: &Cli) {
    let tag = cli.json(&["tag", "show", "crawl-7"]).await;
    let merge = tag["commit"].as_str().unwrap();
    let changed = cli.lines(&["commit", "changes", merge]).await;
    assert_eq!(changed.iter().map(|c| c["id"].as_str().unwrap()).collect::<Vec<_>>(), ["ada", "grace"]);
    cli.json(&["branch", "create", "undo", "--tag", "crawl-7"]).await;
    let reverted = cli.json(&["commit", "revert", merge, "--branch", "undo"]).await;
    assert_eq!((&reverted["outcome"], &reverted["receipt"]["branch"]), (&"merged".into(), &"undo".into()));
    cli.json(&["branch", "merge", "undo", "--delete-source"]).await;
    assert_eq!((cli.aged(&[]).await, cli.aged(&["--tag", "crawl-7"]).await), (37, 38));

    cli.json(&["branch", "create", "again"]).await;
    let words = ["branch", "restore", "again", "--to", "tag:crawl-7"];
    cli.refused(2, &words, 5, None).await;
    let restored = cli.json(&[&words[..], &["--yes"]].concat()).await;
    assert_eq!((&restored["source"], &restored["receipt"]["changed"]), (&merge.into(), &true.into()));
    assert!(cli.lines(&["branch", "diff", "tag:crawl-7", "again"]).await.is_empty());

    assert_eq!(cli.json(&["tag", "protect", "crawl-7"]).await["protected"], true);
    cli.refused(2, &["tag", "delete", "crawl-7", "--yes"], 4, Some("TAG_PROTECTED")).await;
    cli.json(&["tag", "protect", "crawl-7", "--off"]).await;
    cli.refused(2, &["tag", "delete", "crawl-7"], 5, None).await;
    assert_eq!(cli.json(&["tag", "delete", "crawl-7", "--yes"]).await["deleted"]["tag"], "crawl-7");
    assert_eq!(cli.json(&["tag", "list"]).await, Json::Array(Vec::new()));
}

/// What depends on main is told all of it.
async fn follow(cli: &Cli, loaded: &str) {
    let all = cli.json(&["commit", "list"]).await;
    let mut ids: Vec<&str> = all.as_array().unwrap().iter().map(|commit| commit["id"].as_str().unwrap()).collect();
    ids.reverse();
    let limit = ids.len().to_string();
    let words = ["commit", "watch", "--changes", "--type", "Person", "--limit"];
    let told = cli.lines(&[&words[..], &[&limit, "--from", "beginning"]].concat()).await;
    assert_eq!(told.iter().map(|line| line["commit"]["id"].as_str().unwrap()).collect::<Vec<_>>(), ids);
    let at = ids.iter().position(|id| *id == loaded).unwrap();
    assert_eq!(told[at]["changes"].as_array().unwrap().len(), 2, "two people and no edge");
    assert!(told[at + 1]["changes"].as_array().unwrap().is_empty(), "protection changes nothing");
    let cursor = format!("cursor:{}", told[at]["cursor"].as_str().unwrap());
    for from in [cursor.as_str(), loaded] {
        let next = cli.lines(&[&words[..], &["1", "--from", from]].concat()).await;
        assert_eq!(next[0]["commit"]["id"], ids[at + 1]);
    }
    let ended = cli.run(2, &["commit", "watch", "--from", "beginning", "--limit", "1"]).await;
    assert!(ended.out.starts_with("commit ") && ended.err.contains("--from cursor:"), "{} {}", ended.out, ended.err);
    cli.refused(2, &["commit", "watch", "--type", "Person"], 2, None).await;
    let other = [&words[..4], &["Note", "--limit", "1", "--from", &cursor]].concat();
    cli.refused(2, &other, 1, Some("INVALID_PAGE_TOKEN")).await;
}
