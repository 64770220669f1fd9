// SPDX-License-Identifier: Apache-2.0

package console

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Columns returns the width of the terminal w, or 80 if w is not a terminal.
func Columns(w io.Writer) int {
	// A console wraps the file that knows its size.
	if s, ok := w.(consoleStream); ok {
		w = s.w
	}
	if f, ok := w.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n
		}
	}
	return 80
}

// HelpWidth returns the width of help: that of the terminal, but at most 100, because
// longer lines are hard to read. It returns 80 if w is not a terminal.
func HelpWidth(w io.Writer) int {
	if !IsTerminal(w) {
		return 80
	}
	return max(40, min(Columns(w), 100))
}

// isColoured reports whether text on a stream may have colours. Terminals have them
// unless the environment forbids it (no-color.org).
func isColoured(w any) bool {
	return IsTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// Styles of text: parameters of ANSI escape sequences.
const (
	Bold = "1"
	Red  = "1;31"
)

// Styled returns text in a style if the stream has colours.
func Styled(w any, style, text string) string {
	if !isColoured(w) {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// screen is a stream that knows whether it is a terminal.
type screen interface{ IsTerminal() bool }

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	if s, ok := stream.(screen); ok {
		return s.IsTerminal()
	}
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
