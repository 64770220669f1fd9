// SPDX-License-Identifier: Apache-2.0

package manual

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// Page is a manual page in the format of roff's macro package man.
type Page struct {
	Name    string // such as varve-append
	Section int    // 1 for commands, 7 for topics
	Text    string
}

// File returns the name of the page below a folder of manual pages.
func (p Page) File() string {
	return filepath.Join(fmt.Sprintf("man%d", p.Section), fmt.Sprintf("%s.%d", p.Name, p.Section))
}

// Write writes pages below a folder, in the layout that the command man searches: a
// folder for each section. It replaces existing pages.
func Write(dir string, pages []Page) error {
	for _, p := range pages {
		name := filepath.Join(dir, p.File())
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(p.Text), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// Pages returns the pages of the program, of all its commands, and of its topics.
func (p *Program) Pages() []Page {
	pages := []Page{p.programPage()}
	for _, c := range commands(p.Root) {
		pages = append(pages, p.command(c))
	}
	for _, t := range p.Topics {
		pages = append(pages, p.topic(t))
	}
	return pages
}

// programPage returns the page of the program itself.
func (p *Program) programPage() Page {
	name := p.Root.Name()
	r := p.begin(name, 1, p.Root.Short)
	r.heading("SYNOPSIS")
	for i, form := range []string{"COMMAND", "help COMMAND", "help TOPIC"} {
		r.form(i, name, form)
	}
	r.heading("DESCRIPTION")
	r.text(p.Root.Long)
	for _, s := range p.grouped() {
		r.heading("COMMANDS: " + strings.ToUpper(s.title))
		for _, c := range s.commands {
			r.term(bold(pageName(c)+"(1)"), c.Short)
		}
	}
	r.heading("TOPICS")
	for _, t := range p.Topics {
		r.term(bold(name+"-"+t.Name+"(7)"), t.Title)
	}
	r.heading("OPTIONS")
	r.flags(flags(p.Root.LocalNonPersistentFlags()))
	r.heading("OPTIONS OF ALL COMMANDS")
	r.flags(flags(p.Root.PersistentFlags()))
	r.examples(p.Root.Example)
	r.heading("EXIT STATUS")
	for _, status := range [][2]string{{"0", "The command is done."}, {"1", "It failed."}, {"2", "Wrong usage."}} {
		r.term(bold(status[0]), status[1])
	}
	return Page{name, 1, r.String()}
}

// pageName returns the name of a command's page.
func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// command returns the page of a command.
func (p *Program) command(c *cobra.Command) Page {
	name := pageName(c)
	r := p.begin(name, 1, c.Short)
	r.heading("SYNOPSIS")
	for i, form := range usages(c) {
		r.form(i, p.Root.Name(), form)
	}
	r.heading("DESCRIPTION")
	r.text(description(c))
	if own := flags(c.LocalFlags()); len(own) > 0 {
		r.heading("OPTIONS")
		r.flags(own)
	}
	r.heading("OPTIONS OF ALL COMMANDS")
	var names []string
	for _, f := range flags(p.Root.PersistentFlags()) {
		names = append(names, bold("--"+f.name))
	}
	r.line(".PP\n" + strings.Join(names, ", ") + ".\nSee " + bold(p.Root.Name()+"(1)") + ".")
	r.examples(c.Example)
	r.seeAlso(p, name)
	return Page{name, 1, r.String()}
}

// topic returns the page of a topic.
func (p *Program) topic(t Topic) Page {
	name := p.Root.Name() + "-" + t.Name
	title := strings.ToLower(t.Title[:1]) + t.Title[1:]
	r := p.begin(name, 7, title)
	r.heading("DESCRIPTION")
	r.text(t.Text)
	r.examples(t.Examples)
	r.seeAlso(p, name)
	return Page{name, 7, r.String()}
}

// begin starts a page with its title and its name.
func (p *Program) begin(name string, section int, short string) *roff {
	r := new(roff)
	// Without a date, the same program makes the same pages.
	r.line(fmt.Sprintf(`.TH "%s" %d "" "%s" "User Commands"`,
		escaped(strings.ToUpper(name)), section, escaped(strings.TrimSpace(p.Root.Name()+" "+p.Version))))
	r.heading("NAME")
	r.line(escaped(name) + ` \- ` + escaped(short))
	return r
}

// seeAlso adds references to the pages of the program and of all topics, except the
// page itself.
func (r *roff) seeAlso(p *Program, own string) {
	refs := []string{bold(p.Root.Name() + "(1)")}
	for _, t := range p.Topics {
		if name := p.Root.Name() + "-" + t.Name; name != own {
			refs = append(refs, bold(name+"(7)"))
		}
	}
	r.heading("SEE ALSO")
	r.line(strings.Join(refs, ", "))
}

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
