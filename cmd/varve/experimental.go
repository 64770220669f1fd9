package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"varve.dev/zarr"
	"varve.dev/zarr/grid"
)

// experimentalFlag is the name of the flag that permits what is proposed for Zarr but not settled.
const experimentalFlag = "experimental"

// experiments are the words of that flag.
var experiments = map[string]func(*zarr.Experimental){
	"encoded-shapes": func(e *zarr.Experimental) { e.EncodedShapes = true },
}

// experimentalVar gives all commands the flag.
func experimentalVar(f *pflag.FlagSet) {
	f.Var(checkedText{new(string), syntax(parseExperiments)}, experimentalFlag,
		"permit `WHAT` is proposed for Zarr but not settled: encoded-shapes are chunks stored longer than their edges (encoded_chunk_shapes)")
}

// parseExperiments reads words with commas between them; without text there are none.
func parseExperiments(text string) (e zarr.Experimental, err error) {
	if text == "" {
		return e, nil
	}
	for word := range strings.SplitSeq(text, ",") {
		permit, ok := experiments[strings.TrimSpace(word)]
		if !ok {
			return e, fmt.Errorf("%q: there is encoded-shapes", word)
		}
		permit(&e)
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
func reading(cmd *cobra.Command) *zarr.Options { return &zarr.Options{Experimental: permitted(cmd)} }

// writing returns the options of nodes that are to be changed.
func writing(cmd *cobra.Command) *zarr.Options {
	return &zarr.Options{Write: true, Experimental: permitted(cmd)}
}
