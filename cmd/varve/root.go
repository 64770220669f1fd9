// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/checking"
	"varve.dev/zarr/cmd/varve/internal/chunkgrid"
	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/cmd/varve/internal/copying"
	"varve.dev/zarr/cmd/varve/internal/creating"
	"varve.dev/zarr/cmd/varve/internal/dryrun"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/growing"
	"varve.dev/zarr/cmd/varve/internal/inspecting"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/cmd/varve/internal/rechunking"
	"varve.dev/zarr/cmd/varve/internal/removing"
	"varve.dev/zarr/cmd/varve/internal/running"
	"varve.dev/zarr/cmd/varve/internal/serving"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/spelling"
	"varve.dev/zarr/cmd/varve/internal/usage"
	"varve.dev/zarr/cmd/varve/internal/virtualizing"
)

// run executes one command line and returns the exit status.
func run(ctx context.Context, args []string, s console.Streams) int {
	root := newRoot()
	s = console.Shared(s)
	ctx = usage.WithLine(ctx, args)
	root.SetArgs(usage.NumberLast(args))
	switch {
	case len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd):
		flagtext.Completions(root)
	case len(args) > 0:
		usage.OnlyOnce(root)
	}
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	addCompletion(root)
	// Package cobra answers --help of an unknown command with the help of the program.
	if found, _, _ := root.Find(args); found == root && len(args) > 1 && !strings.HasPrefix(args[0], "-") && asksHelp(args[1:]) {
		if !slices.Contains(topicNames(), args[0]) && args[0] != "help" && !strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
			return report(root, args, knownCommand(root, args))
		}
	}
	cmd, err := root.ExecuteContextC(ctx)
	if cmd == root && err != nil && len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		// Report an unknown command rather than its flags.
		err = knownCommand(root, args)
	}
	return report(cmd, args, err)
}

// asksHelp reports whether arguments ask for help.
func asksHelp(args []string) bool {
	return slices.ContainsFunc(args, func(arg string) bool { return arg == "--help" || arg == "-h" })
}

// newRoot returns the command varve with all commands below it.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "varve",
		Short: "Read, write and grow Zarr arrays whose chunks follow the data",
		Long: `Read, write and grow Zarr arrays whose chunks follow the data.

A NODE is an array or a group, given by its path or URL: era5.zarr, era5.zarr/t2m, data.zip/t2m,
https://example.org/era5.zarr. varve help terms explains the words used here; varve demo shows what the program does.`,
		Example: `  varve info era5.zarr/t2m
  varve append station.zarr readings.npy`,
		Args:              knownCommand,
		RunE:              rootCommand,
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
	}
	made, _ := stamp()
	root.Annotations = map[string]string{"version": made} // for the page of view
	root.SetFlagErrorFunc(usage.FlagError)
	root.SetHelpFunc(printHelp)
	root.SetHelpCommand(newHelpCommand())
	root.Flags().Bool("version", false, "print the version of this program")
	session.Flags(root)
	for _, c := range []*cobra.Command{
		inspecting.NewInfo(), inspecting.NewTree(), inspecting.NewList(), chunkgrid.NewGrid(),
		newDemoCommand(), session.WithStats(inspecting.NewCat()),
		session.WithStats(inspecting.NewExport()), chunkgrid.NewPlan(),
		session.WithStats(dryrun.Flag(creating.NewCreate())),
		session.WithStats(dryrun.Flag(creating.NewWrite())),
		session.WithStats(dryrun.Flag(growing.NewAppend())),
		session.WithStats(dryrun.Flag(growing.NewResize())),
		session.WithStats(dryrun.Flag(chunkgrid.NewUnlock())), dryrun.Flag(creating.NewAttributes()),
		dryrun.Flag(removing.NewRemove()), growing.NewReservations(),
		session.WithStats(copying.NewCopy()), session.WithStats(copying.NewConvert()),
		session.WithStats(newConsolidateCommand()), session.WithStats(rechunking.NewCompact()),
		session.WithStats(rechunking.NewRegularize()), session.WithStats(rechunking.NewRechunk()),
		session.WithStats(growing.NewDrop()), session.WithStats(growing.NewInsert()),
		session.WithStats(dryrun.Flag(growing.NewStitch())), session.WithStats(removing.NewVacuum()),
		dryrun.Flag(chunkgrid.NewRevert()), session.WithStats(running.NewRun()),
		session.WithStats(copying.NewFilter()), session.WithStats(copying.NewPyramid()), session.WithStats(inspecting.NewStats()),
		session.WithStats(virtualizing.NewVirtualize()), session.WithStats(copying.NewMaterialize()),
		session.WithStats(checking.NewCheck()), session.WithStats(checking.NewEqual()),
		session.WithStats(checking.NewDiff()), newBenchCommand(), newDoctorCommand(),
		serving.NewServe(), serving.NewView(), newIcechunkCommand(), newConformanceCommand(), newManCommand(), newVersionCommand(),
	} {
		mark(c)
		root.AddCommand(c)
	}
	return root
}

// rootCommand runs the program without a command: it prints the help, or the version.
func rootCommand(cmd *cobra.Command, _ []string) error {
	if on, err := cmd.Flags().GetBool("version"); on && err == nil {
		return printVersion(cmd, nil)
	}
	return cmd.Help()
}

// mark wraps the work of a command, so that report can tell its errors from wrong usage.
// It also begins the session and the progress line.
func mark(c *cobra.Command) {
	work := c.RunE
	c.RunE = func(cmd *cobra.Command, args []string) error {
		args, end, err := session.Begin(cmd, args)
		defer end()
		if err != nil {
			return failed(cmd, err)
		}
		p := progress.Begin(cmd)
		err = session.Attempt(cmd, func() error { return work(cmd, args) })
		p.End()
		if err != nil {
			return failed(cmd, err)
		}
		return nil
	}
}

// elsewhere maps commands of other programs to those that do the same.
var elsewhere = map[string]string{
	"sync": "varve copy SRC DST --sync", "mirror": "varve copy SRC DST --sync", "rsync": "varve copy SRC DST --sync",
	"import": "varve virtualize FILE… -o OUT.vz, and varve materialize OUT.vz DST",
	"mv":     "varve copy SRC DST --move", "move": "varve copy SRC DST --move", "rename": "varve copy SRC DST --move",
	"cp": "varve copy", "delete": "varve rm", "remove": "varve rm", "list": "varve tree", "show": "varve info",
	"verify": "varve check", "validate": "varve check", "repair": "varve check --repair", "gc": "varve vacuum",
	"merge": "varve compact", "resample": "varve pyramid", "cut": "varve drop",
}

// knownCommand returns an error if there are arguments. The first one is then an unknown
// command, since package cobra runs known ones.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if slices.Contains(topicNames(), args[0]) {
		return fmt.Errorf("there is no command %q; varve help %s explains the topic", args[0], args[0])
	}
	hint := elsewhere[args[0]]
	if hint != "" {
		return fmt.Errorf("there is no command %q (did you mean %s?)", args[0], hint)
	}
	hint = spelling.Meant(args[0], append(commandNames(cmd), "help", "completion"))
	if hint == "" && !cmd.HasParent() && (node.IsLocation(args[0]) || strings.ContainsAny(args[0], "/.")) {
		hint = fmt.Sprintf(" (did you mean varve info %s?)", phrase.Word(session.WithoutSecrets(args[0])))
	}
	return fmt.Errorf("there is no command %q%s", args[0], hint)
}

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this program and the commit that it was built from",
		Example: "  varve version",
		Args:    usage.Arguments(),
		RunE:    printVersion,
	}
}

// version and commit are set by the linker; see the Makefile. If they are empty, the go
// command has recorded one of them: go install the version, go build in a clone the
// commit.
var version, commit string

// commitOf returns the commit that a program was built from, "" if it is unknown. The
// suffix -modified means that there were uncommitted changes.
func commitOf(info *debug.BuildInfo) string {
	if commit != "" {
		return commit
	}
	noted := map[string]string{}
	for _, s := range info.Settings {
		noted[s.Key] = s.Value
	}
	revision := noted["vcs.revision"]
	if revision = revision[:min(len(revision), 12)]; revision != "" && noted["vcs.modified"] == "true" {
		revision += "-modified"
	}
	return revision
}

// stamp returns the version of the program, or "(devel)", and its commit, or "".
func stamp() (string, string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = new(debug.BuildInfo)
	}
	return cmp.Or(version, info.Main.Version, "(devel)"), commitOf(info)
}

func printVersion(cmd *cobra.Command, _ []string) error {
	version, made := stamp()
	if session.WantsJSON(cmd) {
		return session.PrintJSON(cmd, map[string]any{
			"version": version, "commit": output.Present(made), "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
		})
	}
	text := "varve " + version
	if made != "" {
		text += ", commit " + made
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s (%s, %s/%s)\n", text, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
