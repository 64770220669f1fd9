// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/element"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/format"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/cmd/varve/internal/input"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/session"
)

// checkSource returns an error if a source cannot be appended to an array, or else the
// number of its planes, -1 if it is not known. It reads no values, unless the source is
// an array whose missing values may be ordinary numbers in this one. Streams, pipes and
// JSON are not checked: their shape is unknown until they are read.
func checkSource(cmd *cobra.Command, source, formatName string, a *zarr.Array, axis int) (planes int64, err error) {
	if source == "-" || source == "" {
		return -1, nil
	}
	if !node.IsLocation(source) {
		f, err := format.Of(formatName, source, true)
		if err != nil {
			return -1, err
		}
		// Reading a pipe here would take its bytes from the append.
		if info, err := os.Stat(source); err != nil || f == format.JSON || !info.Mode().IsRegular() {
			return -1, err
		}
	}
	v, err := input.Open(cmd, source, formatName, a.Type(), a)
	if err != nil {
		return -1, err
	}
	defer v.Close()
	if err := v.CheckEncoding(cmd.Context(), a); err != nil {
		return -1, err
	}
	if err := v.CheckAxes(cmd.Context(), a, axis); err != nil {
		return -1, err
	}
	shape := a.Shape()
	// If the length is unknown, or planes have no elements, only the append can count
	// planes.
	if err := growth.Continues(v, shape, axis); err != nil || v.Total < 0 || growth.HasEmptyPlanes(shape, axis) {
		return -1, err
	}
	return growth.WholePlanes(v, shape, axis, v.Total/element.Width(v.Type))
}

// checkRounds returns an error if a file of any round cannot be appended, before the
// first round is. A single round is checked by its append.
func checkRounds(cmd *cobra.Command, location string, rounds [][]*addition, formatName, axis string) error {
	if len(rounds) < 2 {
		return nil
	}
	g, err := zarr.OpenGroup(cmd.Context(), location, session.Reading(cmd))
	if err != nil {
		return err
	}
	defer g.Close()
	var names []*addition
	for _, in := range rounds[0] {
		names = append(names, &addition{name: in.name})
	}
	if err := openInputs(cmd, g, names, location, axis); err != nil {
		return err
	}
	for _, inputs := range rounds {
		var known []*addition
		for i, in := range inputs {
			one := *names[i]
			if one.axis < 0 || one.axis >= one.array.Rank() {
				return nil // the append reports it
			}
			planes, err := checkSource(cmd, in.file, formatName, one.array, one.axis)
			if err != nil {
				return failure.On(cmd.Name(), node.Clean(location)+"/"+one.name, err)
			}
			if one.more = (&growth.Gain{Planes: planes}); planes >= 0 {
				known = append(known, &one)
			}
		}
		if err := sameGrowth(known); err != nil {
			return failure.On(cmd.Name(), location, fromFile(err, inputs[0].file))
		}
	}
	return nil
}

// fromFile names the first file of a round in an error.
func fromFile(err error, file string) error {
	return failure.OfKind(zarr.ErrInvalidArgument, "%s: %w", file, err)
}

// restOf returns the arguments that are left of a command from a round on: the sources,
// if it was given any, or else NAME=FILE.
func restOf(rounds [][]*addition, sources []string, from int) (args []string) {
	if sources != nil {
		return sources[from:]
	}
	for _, inputs := range rounds[from:] {
		for _, in := range inputs {
			args = append(args, in.name+"="+in.file)
		}
	}
	return args
}
