//! Documents of tags in a store in memory.

use super::*;
use crate::store::Stores;
use crate::store::root::Root;

async fn store(name: &str) -> Store {
    let root = Root::parse(&format!("shared-memory://tags-{name}/g")).unwrap();
    Stores::new(None).open(root).await.unwrap()
}

fn doc(tag_id: &str) -> TagDoc {
    TagDoc {
        format: TagDoc::FORMAT,
        tag_id: tag_id.into(),
        commit: "C".into(),
        branch: "main".into(),
        lance_branch: None,
        manifest_version: 3,
        created_at: 9,
        actor: "ada".into(),
        message: String::new(),
        protected: false,
        deleted: false,
    }
}

#[tokio::test]
async fn a_name_belongs_to_one_tag_until_that_is_deleted() {
    let store = store("names").await;
    create(&store, "v/1", &doc("A")).await.unwrap();
    let taken = create(&store, "v/1", &doc("B")).await.unwrap_err();
    assert_eq!((taken.reason(), taken.metadata()["tag"].as_str()), (Reason::TagExists, "v/1"));
    let entry = live(&store, "v/1").await.unwrap();
    assert_eq!((entry.doc.tag_id.as_str(), entry.identity()), ("A", BranchIdentity::main()));
    let gone = TagDoc { deleted: true, ..entry.doc.clone() };
    assert_eq!(replace(&store, &entry, &gone).await.unwrap(), Put::Done);
    // Who read it before changes nothing any more.
    assert_eq!(replace(&store, &entry, &doc("A")).await.unwrap(), Put::Refused);
    assert_eq!(live(&store, "v/1").await.unwrap_err().reason(), Reason::TagNotFound);
    assert!(list(&store).await.unwrap().is_empty());
    let (b, c) = (doc("B"), doc("C"));
    let (b, c) = tokio::join!(create(&store, "v/1", &b), create(&store, "v/1", &c));
    assert_eq!(usize::from(b.is_ok()) + usize::from(c.is_ok()), 1, "{b:?} {c:?}");
    assert_eq!(b.and(c).unwrap_err().reason(), Reason::TagExists);
}

#[tokio::test]
async fn damage_hides_no_other_tag_and_near_names_are_offered() {
    let store = store("damage").await;
    for name in ["release-2", "release-1", "main"] {
        create(&store, name, &doc(name)).await.unwrap();
    }
    store.log().create_if_absent(&paths::tag("broken"), "{".into()).await.unwrap();
    store.log().create_if_absent(&paths::tag("later"), r#"{"format":9}"#.into()).await.unwrap();
    let names: Vec<String> = list(&store).await.unwrap().into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["main", "release-1", "release-2"]);
    let wrong: Vec<_> = every(&store).await.unwrap().into_iter().filter(|(_, entry)| entry.is_err()).collect();
    let wrong: Vec<_> = wrong.into_iter().map(|(name, entry)| (name, entry.unwrap_err().reason())).collect();
    assert_eq!(wrong, [("broken".into(), Reason::DataCorrupt), ("later".into(), Reason::StorageStampTooNew)]);
    assert_eq!(live(&store, "broken").await.unwrap_err().reason(), Reason::DataCorrupt);
    let near = live(&store, "relaese-1").await.unwrap_err();
    assert!(near.message().ends_with("there is no tag \"relaese-1\"; did you mean \"release-1\"?"), "{near}");
    let far = live(&store, "something else").await.unwrap_err();
    assert!(far.message().ends_with("there is no tag \"something else\""), "{far}");
    let bad = live(&store, "a//b").await.unwrap_err();
    assert_eq!(bad.reason(), Reason::InvalidName);
    assert!(bad.message().contains("usable tag name"), "{bad}");
}
