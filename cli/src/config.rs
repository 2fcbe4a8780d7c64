//! What commands fall back on where the command line says nothing: the environment, then a profile of the
//! configuration file. Reads only.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

use crate::failure::{Exit, Failure, Result};

/// Where a graph is and who asks, as far as one source says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    /// Address of a server.
    pub(crate) server: Option<String>,
    /// Id of a graph on the server or in the cluster.
    pub(crate) graph: Option<String>,
    /// Folder or storage URI of a cluster.
    pub(crate) cluster: Option<String>,
    /// Path or URI of a graph.
    pub(crate) uri: Option<String>,
    /// Bearer token.
    pub(crate) token: Option<String>,
    /// Who asks.
    pub(crate) actor: Option<String>,
    /// Seconds for one attempt of a call.
    pub(crate) timeout: Option<u64>,
}

impl Settings {
    /// Whether it names a place.
    pub(crate) fn names_place(&self) -> bool {
        self.server.is_some() || self.cluster.is_some() || self.uri.is_some()
    }

    /// These settings, completed by others. A place is taken as a whole: half of one and half of another
    /// would be a third that nobody meant.
    fn over(self, other: Self) -> Self {
        let (server, cluster, uri) = match self.names_place() {
            true => (self.server, self.cluster, self.uri),
            false => (other.server, other.cluster, other.uri),
        };
        Self {
            server,
            cluster,
            uri,
            graph: self.graph.or(other.graph),
            token: self.token.or(other.token),
            actor: self.actor.or(other.actor),
            timeout: self.timeout.or(other.timeout),
        }
    }
}

/// The configuration file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// Profile that is used if none is named.
    default_profile: Option<String>,
    /// Profiles by name.
    #[serde(default)]
    profiles: BTreeMap<String, Settings>,
}

/// A source of environment variables.
type Env<'a> = &'a dyn Fn(&str) -> Option<String>;

/// What the environment and the configuration file say together.
pub(crate) fn settings(profile: Option<&str>, env: Env<'_>) -> Result<Settings> {
    let chosen = profile.map(ToString::to_string).or_else(|| env("OMNIGRAPH_PROFILE"));
    let from_file = match file(env)? {
        Some((path, text)) => pick(&path.display().to_string(), &text, chosen.as_deref())?,
        None => match chosen {
            Some(name) => return Err(unknown(&name, "there is no configuration file")),
            None => Settings::default(),
        },
    };
    let from_env = from_env(env)?;
    // A profile that is asked for by name is meant more than what happens to be in the environment.
    Ok(if profile.is_some() { from_file.over(from_env) } else { from_env.over(from_file) })
}

fn from_env(env: Env<'_>) -> Result<Settings> {
    let timeout = env("OMNIGRAPH_TIMEOUT").map(|text| {
        let seconds = text.parse::<u64>();
        seconds.map_err(|_| Failure::usage(format!("OMNIGRAPH_TIMEOUT is {text:?}, not a number of seconds")))
    });
    Ok(Settings {
        server: env("OMNIGRAPH_SERVER"),
        graph: env("OMNIGRAPH_GRAPH"),
        cluster: env("OMNIGRAPH_CLUSTER"),
        uri: env("OMNIGRAPH_URI"),
        token: env("OMNIGRAPH_TOKEN"),
        actor: env("OMNIGRAPH_ACTOR"),
        timeout: timeout.transpose()?,
    })
}

/// The configuration file and its text. A file that is asked for must be there.
fn file(env: Env<'_>) -> Result<Option<(PathBuf, String)>> {
    let asked = env("OMNIGRAPH_CONFIG").map(PathBuf::from);
    let usual = || {
        let base = env("XDG_CONFIG_HOME").map(PathBuf::from);
        let base = base.or_else(|| env("HOME").map(|home| PathBuf::from(home).join(".config")));
        base.map(|base| base.join("omnigraph").join("config.toml"))
    };
    let must = asked.is_some();
    let Some(path) = asked.or_else(usual) else {
        return Ok(None);
    };
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(Some((path, text))),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound && !must => Ok(None),
        Err(e) => Err(Failure::io(format!("cannot read {}", path.display()), &e)),
    }
}

/// A profile of the file: the one that is named, else the file's default, else none.
fn pick(path: &str, text: &str, name: Option<&str>) -> Result<Settings> {
    let file: File =
        toml::from_str(text).map_err(|e| Failure::usage(format!("{path} is no configuration: {}", e.message())))?;
    let Some(name) = name.or(file.default_profile.as_deref()) else {
        return Ok(Settings::default());
    };
    let known = || {
        let names: Vec<&str> = file.profiles.keys().map(String::as_str).collect();
        format!("{path} has: {}", if names.is_empty() { "none".to_string() } else { names.join(", ") })
    };
    file.profiles.get(name).cloned().ok_or_else(|| unknown(name, &known()))
}

fn unknown(name: &str, why: &str) -> Failure {
    Failure::new(Exit::Usage, format!("there is no profile {name:?}; {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
        default_profile = "local"
        [profiles.local]
        uri = "./social.omni"
        actor = "ada"
        [profiles.shared]
        server = "http://h:1"
        graph = "social"
    "#;

    #[test]
    fn a_profile_is_picked_by_name_or_default() {
        assert_eq!(pick("f", FILE, None).unwrap().uri.as_deref(), Some("./social.omni"));
        assert_eq!(pick("f", FILE, Some("shared")).unwrap().graph.as_deref(), Some("social"));
        assert!(pick("f", FILE, Some("nope")).unwrap_err().message().contains("local, shared"));
        assert!(pick("f", "profiles = 3", None).is_err());
    }

    #[test]
    fn a_place_is_not_mixed_from_two_sources() {
        let env = Settings { server: Some("http://e:1".into()), ..Settings::default() };
        let file = Settings { uri: Some("./x".into()), actor: Some("ada".into()), ..Settings::default() };
        let both = env.over(file);
        assert_eq!((both.server.as_deref(), both.uri), (Some("http://e:1"), None));
        assert_eq!(both.actor.as_deref(), Some("ada"));
    }
}
