package main

import (
	"bufio"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
)

func newRemoveCommand() *cobra.Command {
	c := &cobra.Command{
		Use:               "rm NODE",
		Short:             "Remove a node with everything below it",
		Example:           "  varve rm --yes era5.zarr/t2m",
		Args:              arguments("NODE"),
		ValidArgsFunction: completeNode,
	}
	yes := c.Flags().Bool("yes", false, "do not ask")
	c.RunE = func(cmd *cobra.Command, args []string) error { return remove(cmd, args[0], *yes) }
	return c
}

func remove(cmd *cobra.Command, location string, yes bool) error {
	if !yes {
		if !isTerminal(cmd.InOrStdin()) {
			return badUsage("this deletes %s and everything below it: give --yes", location)
		}
		if !confirmed(cmd, location) {
			return badArgument("nothing was deleted")
		}
	}
	if err := zarr.Delete(cmd.Context(), location, writing(cmd)); err != nil {
		return err
	}
	if wantsJSON(cmd) {
		return printJSON(cmd, map[string]any{"path": location, "removed": true})
	}
	return nil
}

// confirmed asks the person at the terminal.
func confirmed(cmd *cobra.Command, location string) bool {
	cmd.PrintErrf("Delete %s and everything below it? [y/N] ", printable(location))
	answer, err := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	if err != nil {
		return false
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true
	}
	return false
}
