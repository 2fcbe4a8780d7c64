//! One Rust source, reduced to what the rules ask about.

use std::ops::RangeInclusive;

use proc_macro2::{Span, TokenStream};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::Text;
use crate::paths::{Name, names};

/// A Rust file that parses.
pub struct Source {
    /// Path from the root, with forward slashes.
    pub path: String,
    /// The whole content.
    pub text: String,
    /// Whether the whole file is test code.
    pub all_test: bool,
    pub(crate) names: Vec<Name>,
    pub(crate) functions: Vec<Block>,
    pub(crate) inline_modules: Vec<Block>,
    pub(crate) mounts: Vec<Mount>,
    test_lines: Vec<RangeInclusive<usize>>,
}

/// A function, or a module with its body in the file.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) name: String,
    /// Line of the first attribute or doc comment.
    pub(crate) top: usize,
    /// From the signature to the closing brace.
    pub(crate) lines: RangeInclusive<usize>,
}

/// A `mod name;` or `include!("…")`.
#[derive(Clone, Debug)]
pub(crate) struct Mount {
    /// Paths at which the file may stand.
    pub(crate) candidates: Vec<String>,
    /// Whether it is mounted for tests only.
    pub(crate) test: bool,
}

impl Source {
    /// Parses a text.
    ///
    /// # Errors
    /// When the text is not Rust.
    pub(crate) fn parse(file: &Text) -> syn::Result<Self> {
        let tokens: TokenStream = file.text.parse()?;
        let names = names(&tokens);
        let ast: syn::File = syn::parse2(tokens)?;
        let mut found = Found::new(&file.path);
        found.visit_file(&ast);
        let all_test = is_test_path(&file.path) || ast.attrs.iter().any(is_test_attribute);
        Ok(Self {
            path: file.path.clone(),
            text: file.text.clone(),
            all_test,
            names,
            functions: found.functions,
            inline_modules: found.inline_modules,
            mounts: found.mounts,
            test_lines: found.test_lines,
        })
    }

    /// Whether this line is compiled for tests only.
    pub fn is_test_line(&self, line: usize) -> bool {
        self.all_test || self.test_lines.iter().any(|range| range.contains(&line))
    }
}

/// The folder in which the modules of this file stand.
pub(crate) fn module_dir(path: &str) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.trim_end_matches(".rs");
    match stem {
        "mod" | "lib" | "main" | "build" => folder.to_owned(),
        _ => join(folder, stem),
    }
}

/// `folder/name`, with `..` and `.` resolved.
pub(crate) fn join(folder: &str, name: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

impl Block {
    fn new(name: &syn::Ident, attributes: &[syn::Attribute], first: Span, last: Span) -> Self {
        let start = first.start().line;
        let tops = attributes.iter().map(|attribute| attribute.span().start().line);
        Self { name: name.to_string(), top: tops.min().unwrap_or(start), lines: start..=last.end().line }
    }

    pub(crate) fn length(&self) -> usize {
        self.lines.clone().count()
    }
}

/// Files that hold nothing but tests by where they stand.
fn is_test_path(path: &str) -> bool {
    let mut parts: Vec<&str> = path.split('/').collect();
    let name = parts.pop().unwrap_or_default();
    name == "tests.rs" || parts.iter().any(|part| ["tests", "benches", "examples"].contains(part))
}

/// `#[test]`, `#[tokio::test]`, `#[cfg(test)]`, `#[cfg(any(test, …))]`; not `#[cfg(not(test))]`.
fn is_test_attribute(attribute: &syn::Attribute) -> bool {
    let last = attribute.path().segments.last();
    if last.is_some_and(|segment| segment.ident == "test") {
        return true;
    }
    if !attribute.path().is_ident("cfg") {
        return false;
    }
    let Ok(list) = attribute.meta.require_list() else {
        return false;
    };
    let condition = list.tokens.to_string();
    let words = condition.split(|c: char| !c.is_alphanumeric() && c != '_');
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.contains(&"test") && !words.contains(&"not")
}

fn string_of(attributes: &[syn::Attribute], name: &str) -> Option<String> {
    let found = attributes.iter().find(|attribute| attribute.path().is_ident(name))?;
    let syn::Expr::Lit(literal) = &found.meta.require_name_value().ok()?.value else {
        return None;
    };
    match &literal.lit {
        syn::Lit::Str(text) => Some(text.value()),
        _ => None,
    }
}

/// Collects blocks, test lines and mounts while walking a file.
struct Found {
    file_folder: String,
    /// Folder of the modules declared at the current depth.
    folder: String,
    inline_depth: usize,
    test_depth: usize,
    test_lines: Vec<RangeInclusive<usize>>,
    functions: Vec<Block>,
    inline_modules: Vec<Block>,
    mounts: Vec<Mount>,
}

impl Found {
    fn new(path: &str) -> Self {
        let (file_folder, _) = path.rsplit_once('/').unwrap_or(("", path));
        Self {
            file_folder: file_folder.to_owned(),
            folder: module_dir(path),
            inline_depth: 0,
            test_depth: 0,
            test_lines: Vec::new(),
            functions: Vec::new(),
            inline_modules: Vec::new(),
            mounts: Vec::new(),
        }
    }

    fn within(&mut self, attributes: &[syn::Attribute], whole: Span, go: impl FnOnce(&mut Self)) {
        let test = attributes.iter().any(is_test_attribute);
        if test {
            self.test_lines.push(whole.start().line..=whole.end().line);
        }
        self.test_depth += usize::from(test);
        go(self);
        self.test_depth -= usize::from(test);
    }

    fn function(&mut self, attributes: &[syn::Attribute], signature: &syn::Signature, body: &syn::Block) {
        let last = body.brace_token.span.close();
        let block = Block::new(&signature.ident, attributes, signature.span(), last);
        self.functions.push(block);
    }

    fn mount(&mut self, module: &syn::ItemMod) {
        let name = module.ident.to_string();
        let candidates = match string_of(&module.attrs, "path") {
            Some(path) if self.inline_depth == 0 => vec![join(&self.file_folder, &path)],
            Some(path) => vec![join(&self.folder, &path)],
            None => vec![join(&self.folder, &format!("{name}.rs")), join(&self.folder, &format!("{name}/mod.rs"))],
        };
        self.mounts.push(Mount { candidates, test: self.test_depth > 0 });
    }
}

impl<'ast> Visit<'ast> for Found {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attributes = match item {
            syn::Item::Const(i) => &i.attrs,
            syn::Item::Enum(i) => &i.attrs,
            syn::Item::Fn(i) => &i.attrs,
            syn::Item::Impl(i) => &i.attrs,
            syn::Item::Macro(i) => &i.attrs,
            syn::Item::Mod(i) => &i.attrs,
            syn::Item::Static(i) => &i.attrs,
            syn::Item::Struct(i) => &i.attrs,
            syn::Item::Trait(i) => &i.attrs,
            syn::Item::Type(i) => &i.attrs,
            syn::Item::Use(i) => &i.attrs,
            _ => &Vec::new(),
        };
        self.within(attributes, item.span(), |found| {
            visit::visit_item(found, item);
        });
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.attrs, &item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(body) = &item.default {
            self.function(&item.attrs, &item.sig, body);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.attrs, &item.sig, &item.block);
        self.within(&item.attrs, item.span(), |found| {
            visit::visit_impl_item_fn(found, item);
        });
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        let Some((braces, _)) = &module.content else {
            self.mount(module);
            return;
        };
        let (first, last) = (module.mod_token.span, braces.span.close());
        let block = Block::new(&module.ident, &module.attrs, first, last);
        self.inline_modules.push(block);
        let outer = self.folder.clone();
        self.folder = join(&outer, &module.ident.to_string());
        self.inline_depth += 1;
        visit::visit_item_mod(self, module);
        self.inline_depth -= 1;
        self.folder = outer;
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        if call.path.is_ident("include")
            && let Ok(path) = call.parse_body::<syn::LitStr>()
        {
            self.mounts
                .push(Mount { candidates: vec![join(&self.file_folder, &path.value())], test: self.test_depth > 0 });
        }
    }
}
