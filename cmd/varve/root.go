package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// streams are the three files that every program begins with.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// run executes one command line and returns the exit status.
func run(ctx context.Context, args []string, s streams) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	addCompletion(root)
	cmd, err := root.ExecuteContextC(ctx)
	return report(cmd, args, err)
}

// newRoot returns the command varve with all commands below it.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "varve",
		Short: "Read, write and grow Zarr arrays whose chunks follow the data",
		Example: `  varve info era5.zarr/t2m
  varve append era5.zarr/t2m day.npy`,
		Args:              knownCommand,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
	}
	root.SetFlagErrorFunc(flagError)
	root.PersistentFlags().Bool("json", false, "print one JSON document instead of text, also for failures")
	experimentalVar(root.PersistentFlags())
	propose(root, experimentalFlag, experimentNames()...)
	missingVar(root.PersistentFlags())
	propose(root, missingFlag, "403")
	for _, c := range []*cobra.Command{
		newInfoCommand(), newTreeCommand(), newListCommand(), newGridCommand(), newDemoCommand(),
		withStats(newCatCommand()), withStats(newExportCommand()),
		newPlanCommand(), withStats(newCreateCommand()), withStats(newWriteCommand()), withStats(newAppendCommand()),
		withStats(newResizeCommand()), withStats(newUnlockCommand()), newAttributesCommand(), newRemoveCommand(),
		withStats(newCopyCommand()), withStats(newConvertCommand()), withStats(newConsolidateCommand()), withStats(newCompactCommand()),
		withStats(newCheckCommand()), withStats(newEqualCommand()), newBenchCommand(), newConformanceCommand(), newVersionCommand(),
	} {
		mark(c)
		root.AddCommand(c)
	}
	return root
}

// addCompletion adds the command of package cobra, once its output is known, and makes it keep the rules of the others.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		for _, shell := range c.Commands() {
			mark(shell)
		}
		c.Short = "Print what a shell needs to complete command lines"
		c.Example = "  source <(varve completion bash)"
		c.Args = knownCommand
		c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
}

// mark makes what a command's work returns known as failures: all other errors are wrong usage.
func mark(c *cobra.Command) {
	work := c.RunE
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if err := work(cmd, remoteArguments(cmd, args)); err != nil {
			return failed(cmd, err)
		}
		return nil
	}
}

// knownCommand refuses what is no command.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = fmt.Sprintf(" (is %s meant?)", strings.Join(near, " or "))
	}
	return fmt.Errorf("there is no command %q%s", args[0], hint)
}

// arguments checks the number of a command's arguments by their names; those that may be missing stand in brackets.
func arguments(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > len(names) {
			return fmt.Errorf("unexpected argument %q", withoutSecrets(args[len(names)]))
		}
		if len(args) < len(names) && !strings.HasPrefix(names[len(args)], "[") {
			return fmt.Errorf("%s is missing", names[len(args)])
		}
		return nil
	}
}
