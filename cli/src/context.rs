//! What every command needs to know besides its own flags.

use omnigraph_engine::Access;

use crate::address::{self, Address, Words};
use crate::args::{GlobalArgs, ScopeArgs, VersionArgs};
use crate::config::{self, Settings};
use crate::failure::{Failure, Result};
use crate::output::note;
use crate::target::{Caller, Reader, Target};

/// See the module header.
pub(crate) struct Context {
    /// Whether answers and errors are JSON.
    pub(crate) json: bool,
    /// Whether only answers and errors are told.
    pub(crate) quiet: bool,
    settings: Settings,
}

impl Context {
    /// From the flags of every command, the environment and the configuration file.
    pub(crate) fn new(global: &GlobalArgs) -> Result<Self> {
        let env = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let settings = config::settings(global.profile.as_deref(), &env)?;
        Ok(Self { json: global.json, quiet: global.quiet, settings })
    }

    /// Who asks, with what the command line leaves open filled in.
    pub(crate) fn caller(&self, scope: &ScopeArgs) -> Caller {
        Caller {
            token: scope.place.token.clone().or_else(|| self.settings.token.clone()),
            actor: scope.place.actor.clone().or_else(|| self.settings.actor.clone()),
            timeout: scope.place.timeout.or(self.settings.timeout),
        }
    }

    /// Where the graph is, and the words that remain.
    pub(crate) fn address(
        &self,
        scope: &ScopeArgs,
        words: Vec<String>,
        takes: &Words,
    ) -> Result<(Address, Vec<String>)> {
        address::resolve(scope, &self.settings, words, takes)
    }

    /// The root of a graph in files, for commands that refuse servers. `instead` is what else to say to
    /// someone who wants a server.
    pub(crate) fn root(
        &self,
        verb: &str,
        instead: &str,
        scope: &ScopeArgs,
        words: Vec<String>,
        takes: &Words,
    ) -> Result<(String, Vec<String>)> {
        address::resolve_direct(verb, instead, scope, &self.settings, words, takes)
    }

    /// Opens the graph.
    pub(crate) async fn target(
        &self,
        scope: &ScopeArgs,
        words: Vec<String>,
        takes: &Words,
        access: Access,
    ) -> Result<(Target, Vec<String>)> {
        let (address, words) = self.address(scope, words, takes)?;
        let target = Target::open(&address, &self.caller(scope), access).await?;
        Ok((target, words))
    }

    /// Opens the graph for reading and fixes a version.
    pub(crate) async fn reader(
        &self,
        scope: &ScopeArgs,
        version: &VersionArgs,
        words: Vec<String>,
        takes: &Words,
    ) -> Result<(Reader, Vec<String>)> {
        let selector = version.selector()?;
        let (target, words) = self.target(scope, words, takes, Access::ReadOnly).await?;
        Ok((target.read(&selector).await?, words))
    }

    /// Says where a write goes.
    pub(crate) fn announce(&self, what: &str) {
        if !self.quiet {
            note::say(what);
        }
    }
}

/// The only word, for commands that take one.
pub(crate) fn only(words: Vec<String>) -> Result<String> {
    words.into_iter().next().ok_or_else(|| Failure::usage("a word is missing"))
}
