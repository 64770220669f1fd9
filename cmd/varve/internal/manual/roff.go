// SPDX-License-Identifier: Apache-2.0

package manual

import (
	"fmt"
	"strings"
)

// roff is a manual page that is being written.
type roff struct{ strings.Builder }

// escaped escapes the special characters of roff. It also escapes control characters at
// the start of lines, hyphens, which would be typeset as dashes, and characters outside
// ASCII, which depend on the reader's locale.
func escaped(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, `"`, `\(dq`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		// roff would take the line for a request.
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	var b strings.Builder
	for _, c := range strings.Join(lines, "\n") {
		if c < 0x80 {
			b.WriteRune(c)
		} else {
			fmt.Fprintf(&b, `\[u%04X]`, c)
		}
	}
	return b.String()
}

func bold(text string) string   { return `\fB` + escaped(text) + `\fR` }
func italic(text string) string { return `\fI` + escaped(text) + `\fR` }

func (r *roff) line(text string)    { r.WriteString(text + "\n") }
func (r *roff) heading(text string) { r.line(`.SH "` + escaped(text) + `"`) }

// form adds one form of a command line.
func (r *roff) form(i int, program, form string) {
	if i > 0 {
		r.line(".br")
	}
	name, rest, _ := strings.Cut(form, " ")
	// COMMAND and TOPIC are placeholders, not part of the name in bold.
	if name == strings.ToUpper(name) {
		name, rest = "", form
	}
	r.line(strings.TrimSpace(bold(strings.TrimSpace(program+" "+name)) + " " + escaped(rest)))
}

// term adds an entry of a list. The term must already be escaped.
func (r *roff) term(term, text string) {
	r.line(".TP\n" + term)
	r.line(escaped(text))
}

// text adds a help text.
func (r *roff) text(text string) {
	for _, p := range passages(text) {
		switch {
		case p.kind == literal:
			r.literal(p.text)
		case p.kind == entry && p.term != "":
			r.term(bold(p.term), p.text)
		case p.kind == entry:
			r.line(`.IP \(bu 2` + "\n" + escaped(p.text))
		default:
			r.line(".PP\n" + escaped(p.text))
		}
	}
}

// literal adds lines that are not filled.
func (r *roff) literal(text string) {
	r.line(".PP\n.RS 4\n.nf\n" + escaped(text) + "\n.fi\n.RE")
}

// flags adds a list of flags.
func (r *roff) flags(all []flag) {
	for _, f := range all {
		term := bold("--" + f.name)
		if f.short != "" {
			term = bold("-"+f.short) + ", " + term
		}
		if f.value != "" {
			term += " " + italic(f.value)
		}
		r.term(term, f.text)
	}
}

// examples adds commands, if there are any.
func (r *roff) examples(text string) {
	if lines := examples(text); len(lines) > 0 {
		r.heading("EXAMPLES")
		r.literal(strings.Join(lines, "\n"))
	}
}
