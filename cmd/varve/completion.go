// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/spelling"
	"varve.dev/zarr/cmd/varve/internal/usage"
)

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
