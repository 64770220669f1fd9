// SPDX-License-Identifier: Apache-2.0

// Package manual turns the commands, flags and help topics of the program into manual
// pages and into a reference in Markdown. Both come from the tables that the help is
// printed from, so they cannot differ from it. Wrap lays out that help for terminals.
package manual

import (
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
