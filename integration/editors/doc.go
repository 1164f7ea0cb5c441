// Package editors drives real editors with `ndc lsp`, set up as docs/editors.md
// says: Neovim and Emacs, without a screen. The protocol itself is tested in
// package lsp. The tests need the build tag conformance, and install what they
// need from Debian where they may.
package editors
