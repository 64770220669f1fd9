// SPDX-License-Identifier: Apache-2.0

package manual

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Reference returns the reference of all commands and topics in Markdown.
func (p *Program) Reference() string {
	var b strings.Builder
	name := p.Root.Name()
	fmt.Fprintf(&b, "# Commands of %s\n\n", name)
	fmt.Fprintf(&b, "A test makes this page from the help of the program: `%s help COMMAND` prints the same.\n\n", name)
	b.WriteString(markdown(p.Root.Long))
	for _, s := range p.grouped() {
		fmt.Fprintf(&b, "\n| %s | |\n|---|---|\n", s.title)
		for _, c := range s.commands {
			path := strings.TrimPrefix(c.CommandPath(), name+" ")
			fmt.Fprintf(&b, "| [%s](#%s) | %s |\n", path, anchor(c.CommandPath()), cell(c.Short))
		}
	}
	b.WriteString("\n| Topics | |\n|---|---|\n")
	for _, t := range p.Topics {
		fmt.Fprintf(&b, "| [%s](#%s) | %s |\n", t.Name, anchor(t.Title), cell(t.Title))
	}
	for _, s := range p.grouped() {
		for _, c := range s.commands {
			p.reference(&b, c)
		}
	}
	for _, t := range p.Topics {
		fmt.Fprintf(&b, "\n## %s\n\n%s", t.Title, markdown(t.Text))
		block(&b, "sh", examples(t.Examples))
	}
	b.WriteString("\n## Flags of all commands\n")
	table(&b, append(flags(p.Root.PersistentFlags()), flag{"h", "help", "", "print the help of the command"}))
	b.WriteString("\n## Exit status\n\n0 done, 1 failed, 2 wrong usage, 3 done, but something was left out, which is named.\n")
	return b.String()
}

// reference adds the section of a command.
func (p *Program) reference(b *strings.Builder, c *cobra.Command) {
	fmt.Fprintf(b, "\n## %s\n\n%s", c.CommandPath(), markdown(description(c)))
	var forms []string
	for _, form := range usages(c) {
		forms = append(forms, p.Root.Name()+" "+form)
	}
	block(b, "text", forms)
	block(b, "sh", examples(c.Example))
	table(b, flags(c.LocalFlags()))
}

// block adds a block of code.
func block(b *strings.Builder, language string, lines []string) {
	if len(lines) > 0 {
		fmt.Fprintf(b, "\n```%s\n%s\n```\n", language, strings.Join(lines, "\n"))
	}
}

// table adds a table of flags.
func table(b *strings.Builder, all []flag) {
	if len(all) == 0 {
		return
	}
	b.WriteString("\n| flag | |\n|---|---|\n")
	for _, f := range all {
		name := strings.TrimSpace("--" + f.name + " " + f.value)
		if f.short != "" {
			name = "-" + f.short + ", " + name
		}
		fmt.Fprintf(b, "| `%s` | %s |\n", name, cell(f.text))
	}
}

// markdown returns a help text in Markdown.
func markdown(text string) string {
	var b strings.Builder
	last := entry
	for i, p := range passages(text) {
		if i > 0 && (p.kind != entry || last != entry) {
			b.WriteByte('\n')
		}
		switch {
		case p.kind == literal:
			b.WriteString("```text\n" + p.text + "\n```\n")
		case p.kind == entry && p.term != "":
			fmt.Fprintf(&b, "- `%s`: %s\n", p.term, plain(p.text))
		case p.kind == entry:
			fmt.Fprintf(&b, "- %s\n", plain(p.text))
		default:
			b.WriteString(plain(p.text) + "\n")
		}
		last = p.kind
	}
	return b.String()
}

// plain escapes the special characters of Markdown.
func plain(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "<", `\<`, "[", `\[`, "]", `\]`, "`", "\\`").Replace(text)
}

// cell returns text for a cell of a table.
func cell(text string) string { return strings.ReplaceAll(plain(text), "|", `\|`) }

// anchor returns the name that web sites give to a heading.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z':
			return r
		}
		return -1
	}, strings.ToLower(heading))
}
