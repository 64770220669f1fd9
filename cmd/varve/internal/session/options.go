// SPDX-License-Identifier: Apache-2.0

package session

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"varve.dev/zarr"
	"varve.dev/zarr/grid"
)

// ExperimentalFlag is the flag that permits extensions which are proposed for Zarr but
// not accepted.
const ExperimentalFlag = "experimental"

// experiments are the values of --experimental.
var experiments = []struct {
	name   string
	permit func(*zarr.Experimental)
}{
	{"encoded-shapes", func(e *zarr.Experimental) { e.EncodedShapes = true }},
	{"inner-chunks", func(e *zarr.Experimental) { e.InnerChunks = true }},
}

// ExperimentNames returns the values of --experimental.
func ExperimentNames() []string {
	names := make([]string, len(experiments))
	for i, e := range experiments {
		names[i] = e.name
	}
	return names
}

// experimentalVar defines --experimental.
func experimentalVar(f *pflag.FlagSet) {
	f.Var(new(experimentWords), ExperimentalFlag,
		"permit proposed extensions of Zarr: `WHAT` is encoded-shapes (chunks that are stored longer than their edges), "+
			"inner-chunks (inner chunks that end with their shard or have different lengths), or both, separated by a comma")
}

// experimentWords is the value of --experimental. Several occurrences of the flag add up.
type experimentWords string

func (w *experimentWords) Set(text string) error {
	if _, err := parseExperiments(text); err != nil {
		return err
	}
	*w = experimentWords(strings.Trim(string(*w)+","+text, ","))
	return nil
}

func (w *experimentWords) String() string { return string(*w) }
func (w *experimentWords) Type() string   { return "string" }

// parseExperiments parses words with commas between them.
func parseExperiments(text string) (e zarr.Experimental, err error) {
	if text == "" {
		return e, nil
	}
	names := ExperimentNames()
	for word := range strings.SplitSeq(text, ",") {
		i := slices.Index(names, strings.TrimSpace(word))
		if i < 0 {
			return e, fmt.Errorf("%q is not one of %s", word, strings.Join(names, " and "))
		}
		experiments[i].permit(&e)
	}
	return e, nil
}

// Permitted returns the extensions that the command line permits.
func Permitted(cmd *cobra.Command) zarr.Experimental {
	f := cmd.Flag(ExperimentalFlag)
	if f == nil {
		return zarr.Experimental{}
	}
	e, _ := parseExperiments(f.Value.String()) // Set has checked it
	return e
}

// GridOptions returns the options for parsing chunk grids.
func GridOptions(cmd *cobra.Command) grid.ParseOptions {
	return grid.ParseOptions{EncodedShapes: Permitted(cmd).EncodedShapes}
}

// Reading returns the options for nodes that a command only reads.
func Reading(cmd *cobra.Command) *zarr.Options {
	return &zarr.Options{
		Experimental: Permitted(cmd), Limits: Limits(cmd), RequireChunks: requiresChunks(cmd), Observer: ObserverOf(cmd.Context()),
	}
}

// Writing returns the options for nodes that a command changes.
func Writing(cmd *cobra.Command) *zarr.Options {
	return &zarr.Options{
		Write: true, Experimental: Permitted(cmd), Limits: Limits(cmd), Observer: ObserverOf(cmd.Context()), Rehearsal: LedgerOf(cmd.Context()),
	}
}
