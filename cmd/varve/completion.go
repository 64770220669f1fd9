// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/spf13/cobra"

// completionHelp explains the command of each shell.
var completionHelp = map[string]string{
	"bash": `Print the script with which bash completes command lines. It needs the package bash-completion.

In the present shell:
    source <(varve completion bash)

In every new shell, on Linux and on macOS with Homebrew:
    varve completion bash > ~/.local/share/bash-completion/completions/varve
    varve completion bash > "$(brew --prefix)/etc/bash_completion.d/varve"`,
	"zsh": `Print the script with which zsh completes command lines. Completion has to be on: "autoload -U compinit; compinit"
in ~/.zshrc.

In the present shell:
    source <(varve completion zsh)

In every new shell, in a directory of $fpath:
    varve completion zsh > "${fpath[1]}/_varve"`,
	"fish": `Print the script with which fish completes command lines.

In the present shell:
    varve completion fish | source

In every new shell:
    varve completion fish > ~/.config/fish/completions/varve.fish`,
	"powershell": `Print the script with which PowerShell completes command lines.

In the present shell, or in every new one by a line in the profile:
    varve completion powershell | Out-String | Invoke-Expression`,
}

// addCompletion adds the command of package cobra, once its output is known, and makes it
// keep the rules of the others.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		for _, shell := range c.Commands() {
			mark(shell)
			shell.Long = completionHelp[shell.Name()]
			shell.Short = "Print the script for " + shell.Name()
		}
		c.Long = "Print what a shell needs to complete command lines. The help of each shell says how that becomes permanent, as " +
			"varve help completion bash."
		c.Short = "Print what a shell needs to complete command lines"
		c.Example = "  source <(varve completion bash)"
		c.Args = knownCommand
		c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
}
