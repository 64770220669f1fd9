package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"varve.dev/zarr"
	"varve.dev/zarr/grid"
)

// experimentalFlag is the name of the flag that permits what is proposed for Zarr but not
// settled.
const experimentalFlag = "experimental"

// experiments are the words of that flag.
var experiments = []struct {
	name   string
	permit func(*zarr.Experimental)
}{
	{"encoded-shapes", func(e *zarr.Experimental) { e.EncodedShapes = true }},
	{"inner-chunks", func(e *zarr.Experimental) { e.InnerChunks = true }},
}

func experimentNames() []string {
	names := make([]string, len(experiments))
	for i, e := range experiments {
		names[i] = e.name
	}
	return names
}

// experimentalVar gives all commands the flag.
func experimentalVar(f *pflag.FlagSet) {
	f.Var(new(experimentWords), experimentalFlag,
		"permit `WHAT` is proposed for Zarr but not settled, several with commas: encoded-shapes are chunks stored longer than their edges "+
			"(encoded_chunk_shapes), inner-chunks are inner chunks that end where their shard does, or are cut unevenly")
}

// experimentWords is the value of the flag, which may be given more than once: what any
// of them names is permitted.
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

// parseExperiments reads words with commas between them; without text there are none.
func parseExperiments(text string) (e zarr.Experimental, err error) {
	if text == "" {
		return e, nil
	}
	names := experimentNames()
	for word := range strings.SplitSeq(text, ",") {
		i := slices.Index(names, strings.TrimSpace(word))
		if i < 0 {
			return e, fmt.Errorf("%q: there are %s", word, strings.Join(names, " and "))
		}
		experiments[i].permit(&e)
	}
	return e, nil
}

// permitted returns what the command line permits.
func permitted(cmd *cobra.Command) zarr.Experimental {
	f := cmd.Flag(experimentalFlag)
	if f == nil {
		return zarr.Experimental{}
	}
	e, _ := parseExperiments(f.Value.String()) // it was checked when it was read
	return e
}

// gridOptions returns how the command line permits to read chunk grids.
func gridOptions(cmd *cobra.Command) grid.ParseOptions {
	return grid.ParseOptions{EncodedShapes: permitted(cmd).EncodedShapes}
}

// reading returns the options of nodes that are only looked at.
func reading(cmd *cobra.Command) *zarr.Options {
	return &zarr.Options{
		Experimental: permitted(cmd), Limits: limits(cmd), RequireChunks: requiresChunks(cmd), Observer: observerOf(cmd.Context()),
	}
}

// writing returns the options of nodes that are to be changed.
func writing(cmd *cobra.Command) *zarr.Options {
	return &zarr.Options{
		Write: true, Experimental: permitted(cmd), Limits: limits(cmd), Observer: observerOf(cmd.Context()), Rehearsal: ledgerOf(cmd.Context()),
	}
}
