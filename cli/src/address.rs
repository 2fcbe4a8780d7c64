//! Which graph a command is about: from flags, the first word, the environment and the profile. Pure, but for
//! reading a cluster's file. Every flag that would be ignored is refused.

use std::fmt;
use std::ops::RangeInclusive;

use omnigraph_engine::engine::graph_root;

use crate::args::ScopeArgs;
use crate::cluster;
use crate::config::Settings;
use crate::failure::{Failure, Result};

/// Where a graph is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    /// On a server.
    Server {
        /// The server.
        url: String,
        /// The graph's id; `None` if the command is about the server as a whole.
        graph: Option<String>,
    },
    /// In files, with the engine in this process.
    Storage {
        /// The graph's root.
        root: String,
    },
}

impl Address {
    /// What names the graph where it is: its id on a server, else its root.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Server { graph, .. } => graph.as_deref().unwrap_or_default(),
            Self::Storage { root } => root,
        }
    }
}

/// For people.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server { url, graph: Some(graph) } => write!(f, "graph {graph} on {url}"),
            Self::Server { url, graph: None } => write!(f, "{url}"),
            Self::Storage { root } => write!(f, "the graph at {root}"),
        }
    }
}

/// What words a command takes besides the target.
#[derive(Clone, Debug)]
pub(crate) struct Words {
    /// As told to people: `TYPE ID...`.
    pub(crate) names: &'static str,
    /// How many.
    pub(crate) count: RangeInclusive<usize>,
}

impl Words {
    pub(crate) const NONE: Self = Self { names: "", count: 0..=0 };

    pub(crate) fn exactly(count: usize, names: &'static str) -> Self {
        Self { names, count: count..=count }
    }

    pub(crate) fn between(least: usize, most: usize, names: &'static str) -> Self {
        Self { names, count: least..=most }
    }

    pub(crate) fn at_least(count: usize, names: &'static str) -> Self {
        Self { names, count: count..=usize::MAX - 1 }
    }
}

/// Whether a word is an address of a server.
pub(crate) fn is_server(word: &str) -> bool {
    ["http://", "https://", "grpc://", "grpcs://"].iter().any(|scheme| word.starts_with(scheme))
}

/// Whether a word can only be meant as a place, for commands that take any number of words.
fn looks_like_place(word: &str) -> bool {
    word.contains("://")
        || ["file:", "/", "./", "../", "~/"].iter().any(|start| word.starts_with(start))
        || word.trim_end_matches('/').ends_with(".omni")
}

/// Finds the address and returns it with the words that remain. `settings` is what the environment and the
/// profile say.
pub(crate) fn resolve(
    scope: &ScopeArgs,
    settings: &Settings,
    mut words: Vec<String>,
    takes: &Words,
) -> Result<(Address, Vec<String>)> {
    let explicit = scope.place.server.is_some() || scope.place.cluster.is_some();
    if scope.place.server.is_some() && scope.place.cluster.is_some() {
        return Err(Failure::usage("--server and --cluster name different places; give one"));
    }
    let first_is_place = !explicit
        && match words.first() {
            None => false,
            Some(_) if words.len() > *takes.count.end() => true,
            Some(_) if !settings.names_place() => words.len() > *takes.count.start(),
            Some(_) if takes.count.start() == takes.count.end() => false,
            Some(first) => looks_like_place(first),
        };
    let address =
        if first_is_place { named(scope, settings, &words.remove(0))? } else { configured(scope, settings, takes)? };
    if !takes.count.contains(&words.len()) {
        let wanted = if takes.names.is_empty() { "no words" } else { takes.names };
        let given = if words.is_empty() { "nothing".to_string() } else { words.join(" ") };
        return Err(Failure::usage(format!("besides the target this takes {wanted}, and was given {given}")));
    }
    refuse_ignored(scope, &address)?;
    Ok((address, words))
}

/// The address a word names.
fn named(scope: &ScopeArgs, settings: &Settings, word: &str) -> Result<Address> {
    if is_server(word) {
        let graph = scope.graph.clone().or_else(|| settings.graph.clone());
        return Ok(Address::Server { url: word.to_string(), graph });
    }
    if scope.graph.is_some() {
        return Err(Failure::usage(format!(
            "{word} names one graph, so --graph means nothing; use --cluster {word} --graph ID for a graph of a cluster"
        )));
    }
    Ok(Address::Storage { root: root(word) })
}

/// The address of flags, or of the environment and the profile.
fn configured(scope: &ScopeArgs, settings: &Settings, takes: &Words) -> Result<Address> {
    let graph = scope.graph.clone().or_else(|| settings.graph.clone());
    let explicit = scope.place.server.is_some() || scope.place.cluster.is_some();
    let (server, cluster, uri) = match explicit {
        true => (&scope.place.server, &scope.place.cluster, &None),
        false => (&settings.server, &settings.cluster, &settings.uri),
    };
    match (server, cluster, uri) {
        (Some(url), _, _) => Ok(Address::Server { url: url.clone(), graph }),
        (None, Some(cluster), _) => {
            let graph = graph.ok_or_else(|| Failure::usage("say which graph of the cluster: --graph ID"))?;
            if is_server(cluster) {
                return Err(Failure::usage(format!("{cluster} is a server; use --server {cluster}")));
            }
            Ok(Address::Storage { root: graph_root(&cluster::storage(&root(cluster))?, &graph)? })
        }
        (None, None, Some(uri)) => named(scope, settings, uri),
        (None, None, None) => Err(Failure::usage(format!(
            "say which graph: a path or URI before {}, or --server URL --graph ID, or --cluster DIR --graph ID",
            if takes.names.is_empty() { "the flags" } else { takes.names }
        ))),
    }
}

/// A root as the engine reads it. `file:./x` is a short form of the path; the URI proper is left alone.
fn root(word: &str) -> String {
    match word.strip_prefix("file:") {
        Some(path) if !path.starts_with("//") => path.to_string(),
        _ => word.to_string(),
    }
}

/// Flags that only a server understands mean nothing for files.
fn refuse_ignored(scope: &ScopeArgs, address: &Address) -> Result<()> {
    let Address::Storage { root } = address else {
        return Ok(());
    };
    for (flag, given) in [("--token", scope.place.token.is_some()), ("--timeout", scope.place.timeout.is_some())] {
        if given {
            return Err(Failure::usage(format!("{flag} is for a server and means nothing for {root}")));
        }
    }
    Ok(())
}

/// The root for a command that works on files only.
pub(crate) fn resolve_direct(
    verb: &str,
    instead: &str,
    scope: &ScopeArgs,
    settings: &Settings,
    words: Vec<String>,
    takes: &Words,
) -> Result<(String, Vec<String>)> {
    let refuse = |what: &str| {
        Failure::usage(format!(
            "`{verb}` works on the files of a graph and cannot go through {what}; give the graph's path or URI, or \
             --cluster DIR|URI --graph ID{instead}"
        ))
    };
    if scope.place.server.is_some() {
        return Err(refuse("--server"));
    }
    if let Some(server) = words.first().filter(|word| is_server(word)) {
        return Err(refuse(server));
    }
    // A server that was not asked for here does not stand in the way.
    let settings = Settings { server: None, ..settings.clone() };
    match resolve(scope, &settings, words, takes)? {
        (Address::Storage { root }, words) => Ok((root, words)),
        (Address::Server { url, .. }, _) => Err(refuse(&url)),
    }
}

#[cfg(test)]
mod tests;
