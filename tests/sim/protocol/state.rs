//! What the store holds and where each actor is. Knows no rule of the protocol.

use std::hash::{Hash, Hasher};

/// Versions that fit, of a table and of the manifest.
pub(super) const ROOM: usize = 12;
/// Two writers, two recoverers, and who comes last, when everything is over.
pub(super) const ACTORS: usize = 5;
/// The place of who comes last.
pub(super) const LAST: usize = ACTORS - 1;
/// Both tables, as a set of bits.
pub(super) const BOTH: u8 = 3;
/// What stands for a number that nobody will ask for.
pub(super) const NEVER: u8 = 15;
/// The owner of versions that only take up their number.
const NOBODY: u8 = 7;
/// Stands in a content for whatever is in such versions.
const UNKNOWN: u128 = 1 << 127;

/// What a commit is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    /// What a writer was asked to do.
    Work,
    /// Published content put back on top of abandoned versions.
    Restore,
    /// The statement that nothing happened.
    #[default]
    Undo,
}

/// One version of a table. The default is one that was published, on which others build.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Version {
    /// Which actor made it, counted from one.
    pub(super) owner: u8,
    /// Whether it puts the content of `from` back instead of adding its operation to it.
    pub(super) restores: bool,
    /// The manifest version after which its turn was; with the owner it names the operation.
    pub(super) turn: u8,
    /// The manifest version it was prepared on; with the owner it names the transaction.
    pub(super) staged: u8,
    /// The version whose content it started from.
    pub(super) from: u8,
}

/// One version of the manifest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    /// Whose commit it is, counted from one; nobody's if it undoes.
    pub(super) owner: u8,
    /// What it is.
    pub(super) kind: Kind,
    /// The published version of each table.
    pub(super) pins: [u8; 2],
}

/// What a claim says: who takes which turn, to do what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Intent {
    /// Who, counted from one; nobody if it cannot be read.
    pub(super) owner: u8,
    /// Whether it restores.
    pub(super) restores: bool,
    /// The manifest version it claims the turn after.
    pub(super) turn: u8,
    /// The manifest version its work was prepared on.
    pub(super) staged: u8,
    /// The tables it changes.
    pub(super) tables: u8,
    /// The version of each of these that it commits on top of.
    pub(super) base: [u8; 2],
}

/// The next call an actor makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Next {
    /// None any more.
    #[default]
    End,
    /// Read a claim: a recoverer that has not begun.
    Begin,
    /// Read the newest manifest.
    Newest,
    /// Look for the newest version of a table.
    Height,
    /// Create the claim, if absent.
    Claim,
    /// Look whether the turn is still open.
    Confirm,
    /// Commit to a table at exactly the version after the base.
    Effect,
    /// Commit the recorded rows to the manifest at exactly the next version.
    Publish,
    /// Look what stands where an effect belongs.
    Observe,
    /// Look how far the manifest is.
    Judge,
    /// Commit the decision to the manifest at exactly the next version.
    Decide,
    /// Delete the claim.
    Clear,
}

/// A writer or a recoverer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Actor {
    /// What it does next.
    pub(super) next: Next,
    /// To which table.
    pub(super) table: usize,
    /// A writer's tables; for a recoverer, those it puts back.
    pub(super) tables: u8,
    /// The intent it carries out or decides.
    pub(super) intent: Intent,
    /// Whether it has no work of its own.
    pub(super) recovers: bool,
    /// Whether it is about restoring.
    pub(super) restoring: bool,
    /// Whether its prepared work may still be right.
    pub(super) keeps: bool,
    /// Whether every effect seen so far is the intent's own.
    pub(super) ours: bool,
    /// Whether it gave its turn up because a table stood ahead.
    pub(super) gave_up: bool,
    /// Whether its caller was told that it is committed.
    pub(super) told: bool,
}

/// Everything.
#[derive(Clone, Copy)]
pub(super) struct State {
    /// The versions of each table, up to its height.
    pub(super) versions: [[Version; ROOM]; 2],
    /// The newest version of each table.
    pub(super) heights: [u8; 2],
    /// The versions of the manifest, up to the newest.
    pub(super) entries: [Entry; ROOM],
    /// The newest version of the manifest.
    pub(super) newest: u8,
    /// The claims that stand, those of later turns first.
    claims: [Intent; ACTORS],
    claimed: usize,
    /// Writers, recoverers, and who comes last.
    pub(super) actors: [Actor; ACTORS],
    /// How many claims were lost or spoilt.
    pub(super) accidents: u8,
    /// Whether a commit was published that is not its parent and its own effect.
    pub(super) broken: bool,
    /// How many commits the writers and who comes last have in the lineage.
    pub(super) commits: [u8; ACTORS],
}

/// A state packed for comparison.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key([u64; 17]);

impl Hash for Key {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        // Mixed here first: the usual hasher is slow over many words where nothing is optimised.
        let mut mixed = 0_u64;
        for word in &self.0 {
            mixed = (mixed.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
        }
        hasher.write_u64(mixed);
    }
}

impl Version {
    /// A version of which nobody can tell more than that it takes up its number.
    pub(super) fn unknown() -> Self {
        Self { owner: NOBODY, ..Self::default() }
    }

    fn pack(&self) -> u64 {
        let who = u64::from(self.owner) << 13 | u64::from(self.restores) << 12;
        who | u64::from(self.turn) << 8 | u64::from(self.staged) << 4 | u64::from(self.from)
    }
}

impl Entry {
    fn pack(&self) -> u64 {
        let who = u64::from(self.owner) << 10 | (self.kind as u64) << 8;
        who | u64::from(self.pins[0]) << 4 | u64::from(self.pins[1])
    }

    /// Whether it is the commit an intent announced.
    pub(super) fn is_of(&self, intent: &Intent) -> bool {
        self.owner == intent.owner && self.kind == intent.kind()
    }
}

impl Intent {
    /// An intent nobody can read.
    pub(super) fn unreadable(turn: u8) -> Self {
        Self { turn, ..Self::default() }
    }

    /// Whether it can be read.
    pub(super) fn is_readable(&self) -> bool {
        self.owner > 0
    }

    /// What its commit is, should it be published.
    pub(super) fn kind(&self) -> Kind {
        if self.restores { Kind::Restore } else { Kind::Work }
    }

    /// Whether a table is among those it changes.
    pub(super) fn touches(&self, table: usize) -> bool {
        has(self.tables, table)
    }

    fn pack(&self) -> u64 {
        let who = u64::from(self.owner) << 24 | u64::from(self.restores) << 20;
        let when = u64::from(self.turn) << 16 | u64::from(self.staged) << 12;
        who | when | u64::from(self.tables) << 8 | u64::from(self.base[0]) << 4 | u64::from(self.base[1])
    }
}

impl Actor {
    /// A writer about to commit to some tables.
    pub(super) fn writer(tables: u8) -> Self {
        Self { next: Next::Newest, tables, ..Self::default() }
    }

    /// Who may decide somebody's operation, and then puts these of its tables back.
    pub(super) fn recoverer(tables: u8) -> Self {
        Self { next: Next::Begin, tables, recovers: true, ..Self::default() }
    }

    /// Packed, but for whose intent it has.
    pub(super) fn pack_nameless(&self) -> u64 {
        self.pack() & !(15 << 24)
    }

    fn pack(&self) -> u64 {
        let flags = u64::from(self.recovers) << 5 | u64::from(self.restoring) << 4 | u64::from(self.keeps) << 3;
        let flags = flags | u64::from(self.ours) << 2 | u64::from(self.gave_up) << 1 | u64::from(self.told);
        let place = u64::from(self.tables) << 60 | (self.next as u64) << 40 | (self.table as u64) << 36;
        place | flags << 30 | self.intent.pack()
    }
}

impl State {
    /// A graph with its first commit, and who is there.
    pub(super) fn new(writers: [Actor; 2], recoverers: &[Actor]) -> Self {
        let mut actors = [Actor::default(); ACTORS];
        actors[..2].copy_from_slice(&writers);
        actors[2..2 + recoverers.len()].copy_from_slice(recoverers);
        Self {
            versions: [[Version::default(); ROOM]; 2],
            heights: [0; 2],
            entries: [Entry::default(); ROOM],
            newest: 0,
            claims: [Intent::default(); ACTORS],
            claimed: 0,
            actors,
            accidents: 0,
            broken: false,
            commits: [0; ACTORS],
        }
    }

    /// A version of the manifest.
    pub(super) fn entry(&self, number: u8) -> &Entry {
        &self.entries[usize::from(number)]
    }

    /// Adds the next version of a table.
    pub(super) fn push_version(&mut self, table: usize, version: Version) {
        self.heights[table] += 1;
        self.versions[table][usize::from(self.heights[table])] = version;
    }

    /// The content of a version of a table: for each operation in it a bit, counted from a published version.
    pub(super) fn content(&self, table: usize, number: u8) -> u128 {
        let mut content = 0;
        let mut at = number;
        while at <= self.heights[table] {
            let version = &self.versions[table][usize::from(at)];
            match version.owner {
                0 => return content,
                NOBODY => break,
                _ if version.restores => {}
                owner => content |= operation(owner, version.turn),
            }
            at = version.from;
        }
        content | UNKNOWN
    }

    /// The claims that stand, those of later turns first.
    pub(super) fn claims(&self) -> &[Intent] {
        &self.claims[..self.claimed]
    }

    /// The same, to be changed without changing their order.
    pub(super) fn claims_mut(&mut self) -> &mut [Intent] {
        &mut self.claims[..self.claimed]
    }

    /// The claim on the turn after a manifest version.
    pub(super) fn claim(&self, turn: u8) -> Option<&Intent> {
        self.claims().iter().find(|c| c.turn == turn)
    }

    /// Adds a claim, or replaces that of the same turn.
    pub(super) fn put_claim(&mut self, intent: Intent) {
        self.drop_claim(intent.turn);
        let mut at = self.claimed;
        while at > 0 && self.claims[at - 1].turn < intent.turn {
            self.claims[at] = self.claims[at - 1];
            at -= 1;
        }
        self.claims[at] = intent;
        self.claimed += 1;
    }

    /// Removes the claim of a turn, whoever holds it.
    pub(super) fn drop_claim(&mut self, turn: u8) {
        let Some(at) = self.claims().iter().position(|c| c.turn == turn) else { return };
        self.claims.copy_within(at + 1..self.claimed, at);
        self.claimed -= 1;
    }

    /// Packed. Who comes last has no part in it.
    pub(super) fn key(&self) -> Key {
        let counts = u64::from(self.heights[0]) << 12 | u64::from(self.heights[1]) << 8 | u64::from(self.newest) << 4;
        let commits = u64::from(self.commits[0]) << 20 | u64::from(self.commits[1]) << 16;
        let more = (self.claimed as u64) << 24 | u64::from(self.accidents) << 28 | u64::from(self.broken);
        let mut key = [0; 17];
        key[0] = counts | commits | more;
        for place in 0..LAST {
            key[1 + place] = self.actors[place].pack();
        }
        for (at, claim) in self.claims().iter().enumerate() {
            key[5 + at / 2] |= claim.pack() << (at % 2 * 32);
        }
        for number in 0..=usize::from(self.newest) {
            key[8 + number / 4] |= self.entries[number].pack() << (number % 4 * 16);
        }
        for table in 0..2 {
            for number in 0..=usize::from(self.heights[table]) {
                key[11 + table * 3 + number / 4] |= self.versions[table][number].pack() << (number % 4 * 16);
            }
        }
        Key(key)
    }
}

/// Whether a table is in a set.
pub(super) fn has(tables: u8, table: usize) -> bool {
    tables >> table & 1 != 0
}

/// The bit of an operation.
pub(super) fn operation(owner: u8, turn: u8) -> u128 {
    1 << (u32::from(owner) * 16 + u32::from(turn))
}
