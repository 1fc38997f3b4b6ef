//! The header is made of the sources, is kept beside them, and is read by C and C++.

use std::path::{Path, PathBuf};

use cbindgen::{Builder, Config, DocumentationStyle, Language, Style};

use crate::compile::{compiler, run};

const HEADER: &str = "/* The foltr device: ranks documents, learns from clicks, and takes part in a federation if its owner wants that.
 *
 * Functions return FOLTR_OK or why they did nothing; foltr_last_error says it in words. All functions may be called from
 * several threads, which are served one after the other. Texts are UTF-8 and end with a 0. Pointers must not be NULL
 * unless it says so.
 *
 * Made of foltr-client-c/src by a test: change it there. */";

fn crate_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub fn header() -> PathBuf {
    crate_folder().join("include/foltr_device.h")
}

fn generate() -> String {
    let mut config = Config {
        language: Language::C,
        cpp_compat: true,
        header: Some(HEADER.into()),
        include_guard: Some("FOLTR_DEVICE_H".into()),
        no_includes: true,
        sys_includes: vec!["stddef.h".into(), "stdint.h".into()],
        usize_is_size_t: true,
        documentation_style: DocumentationStyle::Cxx,
        style: Style::Type,
        line_length: 120,
        ..Config::default()
    };
    // Functions take their values as numbers, so that nothing else names them.
    config.export.include = ["foltr_kind", "foltr_normalisation", "foltr_consent"].map(str::to_owned).into();
    let sources = ["c_declarations.rs", "functions.rs"].map(|name| crate_folder().join("src").join(name));
    let builder = sources.iter().fold(Builder::new().with_config(config), |builder, source| builder.with_src(source));
    let mut text = Vec::new();
    builder.generate().expect("sources of C functions").write(&mut text);
    String::from_utf8(text).expect("UTF-8")
}

#[test]
fn the_header_is_that_of_the_sources() {
    let text = generate();
    if std::env::var_os("FOLTR_WRITE_DOCS").is_some() {
        // At once: other tests read it meanwhile.
        let new = header().with_extension("new");
        std::fs::write(&new, &text).and_then(|()| std::fs::rename(new, header())).expect("the header can be written");
    }
    let written = std::fs::read_to_string(header()).unwrap_or_default();
    assert!(written == text, "foltr_device.h is out of date: run this test with FOLTR_WRITE_DOCS=1");
}

#[test]
fn the_header_names_every_function_and_cpp_can_read_it() {
    let text = std::fs::read_to_string(header()).expect("a header");
    let source = std::fs::read_to_string(crate_folder().join("src/functions.rs")).expect("a source");
    let functions: Vec<&str> =
        source.split("extern \"C\" fn ").skip(1).filter_map(|rest| rest.split('(').next()).collect();
    assert!(functions.len() >= 16, "{functions:?}");
    for name in functions {
        assert!(text.contains(&format!("{name}(")), "{name} is not in the header");
    }
    for (name, language) in [("cc", "c"), ("c++", "c++")] {
        let Some(compiler) = compiler(name) else { continue };
        // As a file that includes it, twice: the guard must hold.
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("both.c");
        std::fs::write(&file, "#include \"foltr_device.h\"\n#include \"foltr_device.h\"\n").expect("a file");
        let include = header().parent().expect("a folder").to_owned();
        let mut command = std::process::Command::new(compiler);
        command.args(["-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-pedantic", "-x", language]);
        run(command.arg("-I").arg(include).arg(file));
    }
}

/// Panics stop in `border`: no function that can fail goes around it.
#[test]
fn every_function_with_a_status_is_at_the_border() {
    let source = std::fs::read_to_string(crate_folder().join("src/functions.rs")).expect("a source");
    let mut n_functions = 0;
    for function in source.split("extern \"C\" fn ").skip(1) {
        let (signature, body) = function.split_once('{').expect("a body");
        if signature.contains("-> foltr_status") {
            let code: Vec<&str> =
                body.lines().map(str::trim).filter(|it| !it.is_empty() && !it.starts_with("//")).collect();
            assert!(code[0].starts_with("border(|| "), "{signature}: {}", code[0]);
            n_functions += 1;
        }
    }
    assert!(n_functions >= 12, "{n_functions}");
}
