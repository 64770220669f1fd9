// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/manual"
	"varve.dev/zarr/cmd/varve/internal/session"
)

func newManCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages of all commands into a directory",
		Long: `Write the manual pages of all commands and topics into the subdirectories man1 and man7 of a directory. Older pages
are replaced. If DIR is one that man searches, such as ~/.local/share/man, man varve and man varve-append find them.`,
		Example: "  varve man pages",
		Args:    arguments("DIR"),
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
