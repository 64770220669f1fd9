// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/manual"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/spelling"
	"varve.dev/zarr/cmd/varve/internal/usage"
)

// commandGroups are the headings in the command list of varve help. Commands that are in
// no group are listed last.
var commandGroups = []struct {
	title string
	names []string
}{
	{"Look", []string{"info", "tree", "ls", "cat", "grid", "equal", "check", "diff", "serve", "view"}},
	{"Make and fill", []string{"create", "write", "export", "attrs", "plan", "rm"}},
	{"Grow and cut", []string{"append", "resize", "unlock", "reservations", "regularize", "drop", "insert", "stitch"}},
	{"Copy and tidy", []string{"copy", "filter", "convert", "consolidate", "compact", "rechunk", "pyramid", "stats", "vacuum"}},
}

// printHelp prints the help of a command.
func printHelp(cmd *cobra.Command, _ []string) {
	w := cmd.OutOrStdout()
	fmt.Fprint(w, helpText(cmd, w, console.HelpWidth(w))) // there is no other place to report an error
}

// helpText returns the help of a command for the stream w: what it does, how it is used,
// its own flags, and the names of the topics about it. It is short, so that it fits on
// one screen. What is longer belongs in a topic.
func helpText(cmd *cobra.Command, w io.Writer, width int) string {
	var b strings.Builder
	title := func(text string) { fmt.Fprintf(&b, "\n%s\n", console.Styled(w, console.Bold, text+":")) }
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
	own := cmd.LocalFlags()
	if !cmd.HasParent() {
		own = cmd.LocalNonPersistentFlags()
	}
	if own.HasAvailableFlags() {
		title("Flags")
		b.WriteString(own.FlagUsagesWrapped(width))
	}
	b.WriteString("\n" + phrase.Flow(furtherHelp(cmd), width, "", "") + "\n")
	return b.String()
}

// furtherHelp returns one line about the topics of a command, and about the flags of all
// commands.
func furtherHelp(cmd *cobra.Command) string {
	text := "Flags of all commands: varve help " + manual.FlagsTopic
	if names := newManual(cmd.Root()).TopicsOf(cmd.Name()); len(names) > 0 {
		text = "More: varve help " + strings.Join(names, ", varve help ") + ". " + text
	}
	return text
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
	for _, t := range manual.Topics() {
		b.WriteString(phrase.Flow(t.Short, width, fmt.Sprintf("  %-14s ", t.Name), strings.Repeat(" ", 17)) + "\n")
	}
}

// topicNames returns the names of the topics.
func topicNames() []string {
	var names []string
	for _, t := range manual.Topics() {
		names = append(names, t.Name)
	}
	return names
}

// newHelpCommand returns the command help, which explains commands and topics.
func newHelpCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "help [COMMAND|TOPIC]",
		Short:   "Explain a command or a topic; varve --help lists both",
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
	topics := newManual(root).Topics
	if i := slices.Index(topicNames(), args[0]); i >= 0 && len(args) == 1 {
		w, t := cmd.OutOrStdout(), topics[i]
		text := fmt.Sprintf("%s\n\n%s\n", console.Styled(w, console.Bold, t.Title), manual.Wrap(t.Text, console.HelpWidth(w)))
		if t.Examples != "" {
			text += fmt.Sprintf("\n%s\n%s\n", console.Styled(w, console.Bold, "Examples:"), t.Examples)
		}
		_, err := io.WriteString(w, text)
		return err
	}
	c, rest, err := root.Find(args)
	if len(rest) == 1 && slices.Contains(c.ValidArgs, rest[0]) {
		rest = nil // an action that the command explains
	}
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

func newManCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages of all commands into a directory",
		Long: `Write the manual pages of all commands and topics into the subdirectories man1 and man7 of a directory. Older pages
are replaced. If DIR is one that man searches, such as ~/.local/share/man, man varve and man varve-append find them.`,
		Example: "  varve man pages",
		Args:    usage.Arguments("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			pages := newManual(cmd.Root()).Pages()
			if err := manual.Write(args[0], pages); err != nil {
				return err
			}
			if session.WantsJSON(cmd) {
				return session.PrintJSON(cmd, map[string]any{"pages": len(pages)})
			}
			session.Confirm(cmd, "%s  %d manual pages", args[0], len(pages))
			return nil
		},
	}
}

// newManual returns the manual of the program.
func newManual(root *cobra.Command) *manual.Program {
	version, _ := stamp()
	p := manual.New(root, version)
	for _, g := range commandGroups {
		p.Groups = append(p.Groups, manual.Group{Title: g.title, Commands: g.names})
	}
	return p
}

// completionHelp has the help text of the subcommand for each shell.
var completionHelp = map[string]string{
	"bash": `Print the completion script for bash. It needs the package bash-completion.

In the current shell:
    source <(varve completion bash)

In every new shell, on Linux and on macOS with Homebrew:
    varve completion bash > ~/.local/share/bash-completion/completions/varve
    varve completion bash > "$(brew --prefix)/etc/bash_completion.d/varve"`,
	"zsh": `Print the completion script for zsh. Completion must be on: "autoload -U compinit; compinit" in ~/.zshrc.

In the current shell:
    source <(varve completion zsh)

In every new shell, in a directory of $fpath:
    varve completion zsh > "${fpath[1]}/_varve"`,
	"fish": `Print the completion script for fish.

In the current shell:
    varve completion fish | source

In every new shell:
    varve completion fish > ~/.config/fish/completions/varve.fish`,
	"powershell": `Print the completion script for PowerShell.

In the current shell, or in the profile for every new one:
    varve completion powershell | Out-String | Invoke-Expression`,
}

// addCompletion adds the completion command of package cobra, with help texts and
// arguments like those of the other commands. The output of root must be set.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		for _, shell := range c.Commands() {
			mark(shell)
			shell.Long = completionHelp[shell.Name()]
			shell.Args = usage.Arguments()
			shell.Short = "Print the completion script for " + shell.Name()
		}
		c.Long = "Print the completion script for a shell. The help for each shell, such as varve help completion bash, " +
			"explains how to install it."
		c.Short = "Print the completion script for a shell"
		c.Example = "  source <(varve completion bash)"
		c.Args = func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			var shells []string
			for _, shell := range cmd.Commands() {
				shells = append(shells, shell.Name())
			}
			return fmt.Errorf("there is no completion script for %q%s; there are %s", args[0], spelling.Meant(args[0], shells), strings.Join(shells, ", "))
		}
		c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
}
