// SPDX-License-Identifier: Apache-2.0

// Package manual turns the commands, flags and help topics of the program into manual
// pages and into a reference in Markdown. Both come from the tables that the help is
// printed from, so they cannot differ from it. Wrap lays out that help for terminals.
package manual

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Program is the input of a manual: commands, groups and topics.
type Program struct {
	Root    *cobra.Command
	Version string // such as v0.1.0; "" omits it
	Groups  []Group
	Topics  []Topic
}

// New returns the manual of a program with all topics, and without groups.
func New(root *cobra.Command, version string) *Program {
	p := &Program{Root: root, Version: version, Topics: Topics()}
	p.addFlags()
	return p
}

// Group is a heading and the names of the commands below it.
type Group struct {
	Title    string
	Commands []string
}

// commands returns all commands below c that the help lists, each before its own
// subcommands.
func commands(c *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			all = append(append(all, sub), commands(sub)...)
		}
	}
	return all
}

// grouped returns the commands below the root by group. Commands without a group come
// last, under More.
func (p *Program) grouped() []section {
	left := commands(p.Root)
	var all []section
	for _, g := range append(slices.Clone(p.Groups), Group{Title: "More"}) {
		s := section{title: g.Title}
		for _, name := range g.Commands {
			// Groups also name commands that do not exist yet.
			if i := slices.IndexFunc(left, func(c *cobra.Command) bool { return c.Name() == name }); i >= 0 {
				s.commands = append(s.commands, left[i])
				left = slices.Delete(left, i, i+1)
			}
		}
		all = append(all, s)
	}
	last := &all[len(all)-1]
	last.commands = append(last.commands, left...)
	return all
}

// section is a group with the commands that exist.
type section struct {
	title    string
	commands []*cobra.Command
}

// usages returns the forms of a command line, without the name of the program.
func usages(c *cobra.Command) []string {
	forms := strings.Split(c.Use, ", ")
	if c.HasParent() && c.Parent().HasParent() {
		for i := range forms {
			forms[i] = c.Parent().Name() + " " + forms[i]
		}
	}
	return forms
}

// description returns the help text of a command.
func description(c *cobra.Command) string {
	if c.Long != "" {
		return c.Long
	}
	return c.Short + "."
}

// examples returns the lines of an example without their indent.
func examples(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// flag is a flag as a manual shows it.
type flag struct{ short, name, value, text string }

// flags returns the flags of a set that the help shows, without --help.
func flags(set *pflag.FlagSet) []flag {
	var all []flag
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		value, text := pflag.UnquoteUsage(f)
		if !slices.Contains([]string{"", "false", "0", "[]"}, f.DefValue) {
			text += fmt.Sprintf(" (default %q)", f.DefValue)
		}
		all = append(all, flag{f.Shorthand, f.Name, value, text})
	})
	return all
}

// Topic is a help text that is not about a single command. Commands are those whose help
// names the topic, and Examples has one command line per line.
type Topic struct {
	Name, Short, Title, Text, Examples string
	Commands                           []string
}

// texts has a file for each topic. Its first three lines are the title, the short text
// of lists, and the commands. The text follows after an empty line, and the examples
// after a line that says so.
//
//go:embed topics/*.txt
var texts embed.FS

// topicNames are the topics in the order in which the help lists them.
var topicNames = []string{
	"terms", "select", "chunks", "growth", "creating", "appending", "formats", "missing-values", "rechunking",
	"copying", "conditions", "pyramids", "checking", "virtual", "plans", "flags",
}

// Topics returns all topics.
func Topics() []Topic {
	topics := make([]Topic, len(topicNames))
	for i, name := range topicNames {
		data, err := texts.ReadFile("topics/" + name + ".txt")
		if err != nil {
			panic(err) // the list above and the folder differ
		}
		topics[i] = parseTopic(name, string(data))
	}
	return topics
}

// parseTopic parses the file of a topic.
func parseTopic(name, file string) Topic {
	head, text, _ := strings.Cut(file, "\n\n")
	lines := strings.Split(head, "\n")
	text, examples, _ := strings.Cut(text, "\nExamples:\n")
	return Topic{
		Name: name, Title: lines[0], Short: lines[1], Commands: strings.Fields(strings.Join(lines[2:], " ")),
		Text: strings.Trim(text, "\n"), Examples: strings.TrimRight(examples, "\n"),
	}
}

// FlagsTopic is the name of the topic that lists the flags of all commands.
const FlagsTopic = "flags"

// TopicsOf returns the names of the topics about a command.
func (p *Program) TopicsOf(command string) []string {
	var names []string
	for _, t := range p.Topics {
		if slices.Contains(t.Commands, command) {
			names = append(names, t.Name)
		}
	}
	return names
}

// addFlags adds the flags of all commands to the topic about them.
func (p *Program) addFlags() {
	i := slices.IndexFunc(p.Topics, func(t Topic) bool { return t.Name == FlagsTopic })
	if i < 0 {
		return
	}
	var b strings.Builder
	b.WriteString(p.Topics[i].Text)
	for _, f := range flags(p.Root.PersistentFlags()) {
		name := "--" + f.name
		if f.short != "" {
			name = "-" + f.short + ", " + name
		}
		fmt.Fprintf(&b, "\n  %-25s  %s", strings.TrimSpace(name+" "+f.value), f.text)
	}
	p.Topics[i].Text = b.String()
}
