// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/session"
)

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this program and the commit that it was built from",
		Example: "  varve version",
		Args:    arguments(),
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
