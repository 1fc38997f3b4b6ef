//! Experiment files of a paper: their names and texts, in the program so that an entry needs nothing but data.

/// An experiment file: its name in its folder below `specs`, and its text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spec {
    pub(super) name: &'static str,
    pub(super) text: &'static str,
}

/// Constants for the files of a folder below `specs`, for modules beside this one.
macro_rules! specs {
    ($folder:literal: $($constant:ident = $name:literal;)*) => {
        $(const $constant: Spec =
            Spec { name: $name, text: include_str!(concat!("../../../specs/", $folder, "/", $name, ".toml")) };)*
        #[cfg(test)]
        const SPECS: &[Spec] = &[$($constant),*];
    };
}
pub(super) use specs;
