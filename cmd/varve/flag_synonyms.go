// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// flagSynonyms maps names of flags and parameters in other programs and libraries to the
// flags of varve. If there are several, the first one that the command has is meant.
var flagSynonyms = map[string][]string{
	"dims": {"dimension-names"}, "dim": {"dimension-names"}, "dimensions": {"dimension-names"}, "dim-names": {"dimension-names"},
	"fill-value": {"fill"}, "attrs": {"attributes"}, "attribute": {"attributes"},
	"data-type": {"dtype"}, "datatype": {"dtype"}, "type": {"dtype"},
	"format": {"zarr-format"}, "zarr-version": {"zarr-format"}, "version": {"zarr-format"},
	"chunk-shape": {"chunks"}, "chunk-size": {"chunks"}, "chunk": {"chunks"}, "shard-shape": {"shards"}, "shard": {"shards"},
	"compression": {"compressor"}, "codec": {"codecs"}, "filters": {"codecs"},
	"out": {"output"}, "output-file": {"output"}, "sel": {"select"}, "isel": {"select"}, "selection": {"select"},
	"force": {"overwrite", "yes"}, "index-only": {"fast"}, "finish": {"repair"},
}

// flagSynonym returns a hint in parentheses for an unknown flag that other programs have:
// the flag of the command that does the same. It returns "" if there is none.
func flagSynonym(cmd *cobra.Command, name string) string {
	// Parameters of Python have underscores.
	name = strings.ToLower(strings.ReplaceAll(name, "_", "-"))
	has := func(flag string) bool { return cmd.Flags().Lookup(flag) != nil }
	if has(name) {
		return fmt.Sprintf(" (did you mean --%s?)", name)
	}
	for _, flag := range flagSynonyms[name] {
		if has(flag) {
			return fmt.Sprintf(" (did you mean --%s?)", flag)
		}
	}
	switch {
	case name == "order" && has("codecs"):
		return ` (elements are in C order; the codec transpose stores them in another order: --codecs '[{"name":"transpose","configuration":{"order":[1,0]}},"bytes","zstd"]')`
	case (name == "dimension-separator" || name == "dim-separator") && has("chunk-key-encoding"):
		return " (--chunk-key-encoding includes the separator: default/, default., v2. or v2/)"
	}
	return ""
}
