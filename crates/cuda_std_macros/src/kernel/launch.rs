//! The handle's `launch`: the kernel's signature, its contract, and the arguments in PTX order.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::Ident;

use super::kind::{Kind, View};
use super::parameter::{Parameter, Part};
use super::{Kernel, fresh, lifetime, variable};

/// What `launch` receives for a parameter.
enum Given {
    /// Memory of `[T]`.
    Memory { mutable: bool, of: TokenStream },
    /// Memory of `[T]`, its rows and its columns.
    Matrix { mutable: bool, of: TokenStream },
    /// Memory of `[T]`, and its count or its permutation.
    Pair { view: View, of: TokenStream },
    /// An address of `T`.
    Pointer { mutable: bool, of: TokenStream },
    /// The value itself.
    Value,
    /// Nothing: the launch creates it.
    Nothing,
}

impl Given {
    /// The field with its memory, if it has more than one part.
    fn memory(&self) -> Option<TokenStream> {
        matches!(self, Given::Matrix { .. } | Given::Pair { .. }).then(|| quote! { .memory })
    }

    fn of(kind: &Kind<'_>, core: &TokenStream) -> Self {
        match kind {
            Kind::Slice { element, mutable } | Kind::RawSlice { element, mutable } => {
                let (mutable, of) = (*mutable, quote! { [#element] });
                Given::Memory { mutable, of }
            }
            Kind::Reference { element } => {
                let of = quote! { [#element] };
                Given::Memory { mutable: false, of }
            }
            Kind::Text => {
                let of = quote! { [#core::primitive::u8] };
                Given::Memory { mutable: false, of }
            }
            Kind::View { view, element, .. } => {
                let (mutable, of) = (view.is_written(), quote! { [#element] });
                if view.is_matrix() {
                    Given::Matrix { mutable, of }
                } else if view.is_pair() {
                    Given::Pair { view: *view, of }
                } else {
                    Given::Memory { mutable, of }
                }
            }
            Kind::Pointer { element, mutable } => {
                let (mutable, of) = (*mutable, element.to_token_stream());
                Given::Pointer { mutable, of }
            }
            Kind::Value => Given::Value,
            Kind::Block { .. } | Kind::Static { .. } | Kind::Dynamic { .. } => Given::Nothing,
        }
    }
}

impl Kernel<'_> {
    /// The method that starts the kernel.
    pub(super) fn launch(
        &self,
        entry: &TokenStream,
        f: &Ident,
        is_instance: Option<&TokenStream>,
    ) -> TokenStream {
        let (path, core) = (self.path(), &self.core);
        let safety = &self.function.sig.safety;
        let shape = variable("shape");
        let inputs: Vec<_> = (self.parameters.iter())
            .filter_map(|parameter| self.input(parameter))
            .collect();
        let passed = self.parameters.iter().map(|parameter| self.pass(parameter));
        let contract = self.contract(entry, &quote! { #f::Error }, &shape);
        let arguments = (self.parameters.iter()).flat_map(|parameter| copied(parameter, core));
        let memory = (self.parameters.iter()).flat_map(|parameter| memory(parameter, core));
        let documents = self.launch_documents();
        let a = self.lifetime_of_memory();
        // The handle counts as an argument. Added only where needed, because some crates forbid
        // `allow`.
        let many = (inputs.len() > 6).then(|| quote! { #[allow(clippy::too_many_arguments)] });
        quote! {
            #(#[doc = #documents])*
            #many
            pub #safety fn launch<#a>(&self, #(#inputs),*) -> #core::result::Result<(), #f::Error>
            where #is_instance
            {
                let #shape = #path::launch::Prepared::shape(&self.prepared)?;
                #(#passed)*
                #contract
                // SAFETY: the arguments are the signature's; what they must satisfy beyond their
                // types was checked, or is the caller's promise.
                unsafe { #path::launch::Prepared::launch(&self.prepared, #entry, #shape, [#(#path::launch::Argument::of_value(&#arguments)),*], [#(#memory),*]) }
            }
        }
    }

    /// A parameter of `launch`.
    fn input(&self, parameter: &Parameter<'_>) -> Option<TokenStream> {
        let (path, core) = (self.path(), &self.core);
        let number = quote! { #core::primitive::usize };
        let (name, ty, span) = (&parameter.name, parameter.ty, parameter.type_span());
        let a = self.lifetime_of_memory();
        let kind = |mutable, pointer| {
            let access = if mutable { "Write" } else { "Read" };
            format_ident!("{access}{pointer}")
        };
        Some(match Given::of(&parameter.kind, core) {
            Given::Nothing => return None,
            Given::Value => quote! { #name: #ty },
            Given::Memory { mutable, of } => {
                let kind = kind(mutable, "");
                quote_spanned! { span => #name: impl #path::launch::#kind<#a, #of> }
            }
            Given::Matrix { mutable, of } => {
                let kind = kind(mutable, "");
                quote_spanned! { span => #name: (impl #path::launch::#kind<#a, #of>, #number, #number) }
            }
            Given::Pair { view, of } => {
                let second = match view {
                    View::Append => quote! { Write<#a, [#core::primitive::u64]> },
                    _ => quote! { Permutes<#a> },
                };
                quote_spanned! { span => #name: (impl #path::launch::Write<#a, #of>, impl #path::launch::#second) }
            }
            Given::Pointer { mutable, of } => {
                let kind = kind(mutable, "Pointer");
                quote_spanned! { span => #name: impl #path::launch::#kind<#a, #of> }
            }
        })
    }

    /// The statement that turns an argument into memory.
    fn pass(&self, parameter: &Parameter<'_>) -> Option<TokenStream> {
        let (path, core, name) = (self.path(), &self.core, &parameter.name);
        let (what, mutable, of) = match Given::of(&parameter.kind, core) {
            Given::Nothing | Given::Value => return None,
            Given::Memory { mutable, of } => ("", mutable, of),
            Given::Matrix { mutable, of } => ("_matrix", mutable, of),
            Given::Pointer { mutable, of } => ("_pointer", mutable, of),
            Given::Pair { view, of } => {
                let function = match view {
                    View::Append => quote! { append },
                    _ => quote! { scatter },
                };
                return Some(quote! { let #name = #path::launch::#function::<#of>(#name); });
            }
        };
        let function = format_ident!("{}{what}", if mutable { "write" } else { "read" });
        Some(quote! { let #name = #path::launch::#function::<#of>(#name); })
    }

    /// The arguments as a user writes them.
    pub(super) fn texts_of_arguments(&self) -> Vec<String> {
        let core = &self.core;
        let text = |parameter: &Parameter<'_>| {
            let name = &parameter.name;
            match Given::of(&parameter.kind, core) {
                Given::Nothing => None,
                Given::Matrix { .. } => Some(format!("({name}, rows, cols)")),
                Given::Pair { view, .. } => Some(match view {
                    View::Append => format!("({name}, count)"),
                    _ => format!("({name}, permutation)"),
                }),
                _ => Some(name.to_string()),
            }
        };
        self.parameters.iter().filter_map(text).collect()
    }

    /// Whether the words of the kernel's type fix the whole block.
    pub(super) fn has_fixed_block(&self) -> bool {
        let is_any = |extent: &TokenStream| {
            let text = extent.to_string();
            text == "0" || text.ends_with("ANY")
        };
        self.parameters.iter().any(|parameter| {
            matches!(&parameter.kind, Kind::Block { extents } if !extents.iter().any(is_any))
        })
    }

    /// The lifetime for which a launch borrows its memory.
    fn lifetime_of_memory(&self) -> syn::Lifetime {
        lifetime(&fresh("a", &self.taken_names()))
    }

    /// The documentation of `launch`.
    fn launch_documents(&self) -> Vec<String> {
        let mut documents = vec![
            format!(
                " Starts [`{0}`] and does not wait for it.",
                self.function.sig.ident
            ),
            String::new(),
            " # Errors".to_owned(),
            " Without a grid or a block, and when the device refuses the launch.".to_owned(),
        ];
        for rule in &self.options.require {
            documents.push(format!(" Unless `{}`.", rule.text));
        }
        if !self.is_safe() {
            documents.extend([String::new(), " # Safety".to_owned()]);
            let lines = self.lines();
            let mut safety: Vec<_> = (lines.iter())
                .skip_while(|line| line.trim() != "# Safety")
                .skip(1)
                .take_while(|line| !line.trim_start().starts_with("# "))
                .cloned()
                .collect();
            if safety.is_empty() {
                safety.push(" What the kernel asks of its launch and its arguments holds until it has ended.".to_owned());
            }
            documents.extend(safety);
        }
        documents
    }
}

/// The values that are copied into the launch, in PTX order.
fn copied(parameter: &Parameter<'_>, core: &TokenStream) -> Vec<TokenStream> {
    let name = &parameter.name;
    let memory = Given::of(&parameter.kind, core).memory();
    let part = |&part| match part {
        Part::Pointer => quote! { #name #memory.address },
        Part::Second => quote! { #name.second.address },
        Part::Rows => quote! { #name.rows },
        Part::Cols => quote! { #name.cols },
        // The contract computed a dynamic array's length.
        Part::Length if matches!(parameter.kind, Kind::Dynamic { .. }) => {
            parameter.part(Part::Length).to_token_stream()
        }
        Part::Length => quote! { #name #memory.len },
    };
    match (parameter.kind.parts(), &parameter.kind) {
        (Some(parts), _) => parts.iter().map(part).collect(),
        (None, Kind::Value) => vec![quote! { #name }],
        (None, _) => vec![quote! { #name.address }],
    }
}

/// The memory that an argument points to, if any.
fn memory(parameter: &Parameter<'_>, core: &TokenStream) -> Vec<TokenStream> {
    let name = &parameter.name;
    let some = quote! { #core::option::Option::Some };
    match Given::of(&parameter.kind, core) {
        Given::Nothing | Given::Value => Vec::new(),
        Given::Pointer { .. } => vec![quote! { #name.memory }],
        Given::Matrix { .. } => vec![quote! { #some(#name.memory) }],
        Given::Pair { .. } => vec![
            quote! { #some(#name.memory) },
            quote! { #some(#name.second) },
        ],
        Given::Memory { .. } => vec![quote! { #some(#name) }],
    }
}
