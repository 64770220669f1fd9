// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/manual"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/spelling"
)

// commandGroups are the headings in the command list of varve help. Commands that are in
// no group are listed last.
var commandGroups = []struct {
	title string
	names []string
}{
	{"Look", []string{"info", "tree", "ls", "cat", "grid", "equal", "check", "diff"}},
	{"Make and fill", []string{"create", "write", "export", "attrs", "plan", "rm"}},
	{"Grow and cut", []string{"append", "resize", "unlock", "reservations", "regularize", "drop", "insert", "stitch"}},
	{"Copy and tidy", []string{"copy", "filter", "convert", "consolidate", "compact", "rechunk", "pyramid", "vacuum"}},
}

// printHelp prints the help of a command.
func printHelp(cmd *cobra.Command, _ []string) {
	w := cmd.OutOrStdout()
	var b strings.Builder
	title := func(text string) { fmt.Fprintf(&b, "\n%s\n", console.Styled(w, console.Bold, text+":")) }
	width := console.HelpWidth(w)
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	b.WriteString(manual.Wrap(text, width) + "\n")
	title("Usage")
	if cmd.HasParent() {
		for usage := range strings.SplitSeq(cmd.Use, ", ") {
			fmt.Fprintf(&b, "  %s %s\n", cmd.Parent().CommandPath(), usage)
		}
	} else {
		b.WriteString("  varve COMMAND\n  varve help COMMAND\n  varve help TOPIC\n")
	}
	if cmd.Example != "" {
		title("Examples")
		b.WriteString(cmd.Example + "\n")
	}
	if cmd.HasAvailableSubCommands() {
		printCommands(&b, cmd, width, title)
	}
	if f := cmd.LocalFlags(); f.HasAvailableFlags() {
		title("Flags")
		b.WriteString(f.FlagUsagesWrapped(width))
	}
	if names := flagNames(cmd.InheritedFlags()); len(names) > 0 {
		title("Flags of all commands (see varve --help)")
		b.WriteString(phrase.Flow(strings.Join(names, ", "), width, "  ", "  ") + "\n")
	}
	fmt.Fprint(w, b.String()) // there is no other place to report an error
}

// flagNames returns the flags of a set, with the placeholders of their values.
func flagNames(f *pflag.FlagSet) []string {
	var names []string
	f.VisitAll(func(flag *pflag.Flag) {
		value, _ := pflag.UnquoteUsage(flag)
		if !flag.Hidden {
			names = append(names, strings.TrimSpace("--"+flag.Name+" "+value))
		}
	})
	return names
}

// printCommands lists the subcommands of cmd. For the root it lists them in groups, and
// also the topics.
func printCommands(b *strings.Builder, cmd *cobra.Command, width int, title func(string)) {
	left := map[string]*cobra.Command{}
	var order []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			left[c.Name()] = c
			order = append(order, c.Name())
		}
	}
	list := func(names []string) {
		for _, name := range names {
			if c := left[name]; c != nil {
				// The list shows the first part. The help of the command shows all of it.
				short, _, _ := strings.Cut(c.Short, ";")
				b.WriteString(phrase.Flow(short, width, fmt.Sprintf("  %-12s ", name), strings.Repeat(" ", 15)) + "\n")
				// More lists only what no group has listed.
				delete(left, name)
			}
		}
	}
	if cmd.HasParent() {
		title("Commands")
		list(order)
		return
	}
	for _, g := range commandGroups {
		title(g.title)
		list(g.names)
	}
	title("More")
	list(order)
	title("Topics, for varve help TOPIC")
	for _, t := range topics {
		fmt.Fprintf(b, "  %-12s %s\n", t.name, t.short)
	}
}

// newHelpCommand returns the command help, which explains commands and topics.
func newHelpCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "help [COMMAND|TOPIC]",
		Short:   "Explain a command, or a topic: " + strings.Join(topicNames(), ", "),
		Example: "  varve help append\n  varve help select",
		RunE:    help,
	}
	c.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return slices.Concat(commandNames(cmd.Root()), topicNames()), cobra.ShellCompDirectiveNoFileComp
	}
	return c
}

// help prints the help of a command or topic, or without arguments that of the program.
func help(cmd *cobra.Command, args []string) error {
	root := cmd.Root()
	if len(args) == 0 {
		// Package cobra adds --help to a command only when it executes that command.
		root.InitDefaultHelpFlag()
		return root.Help()
	}
	if t, ok := topicOf(args[0]); ok && len(args) == 1 {
		w := cmd.OutOrStdout()
		text := fmt.Sprintf("%s\n\n%s\n", console.Styled(w, console.Bold, t.title), manual.Wrap(t.text, console.HelpWidth(w)))
		if t.examples != "" {
			text += fmt.Sprintf("\n%s\n%s\n", console.Styled(w, console.Bold, "Examples:"), t.examples)
		}
		_, err := io.WriteString(w, text)
		return err
	}
	c, rest, err := root.Find(args)
	if err != nil || c == root || len(rest) > 0 {
		known := slices.Concat(commandNames(root), topicNames())
		return failure.BadUsage("there is no command or topic %q%s; varve help lists them", strings.Join(args, " "), spelling.Meant(args[0], known))
	}
	c.InitDefaultHelpFlag()
	return c.Help()
}

// commandNames returns the names of the subcommands of a command.
func commandNames(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}
