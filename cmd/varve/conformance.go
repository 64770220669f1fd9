// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/source"
	"varve.dev/zarr/cmd/varve/internal/usage"
)

func newConformanceCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "conformance --array_path DIR",
		Short:   "Print every element in C order, for zarr-conformance-tests",
		Example: "  varve conformance --array_path era5.zarr/t2m",
		Args:    usage.Arguments(),
	}
	path := c.Flags().String("array_path", "", "the `DIR` of the array")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if *path == "" {
			return failure.BadUsage("--array_path is missing")
		}
		return conformance(cmd, *path)
	}
	return c
}

func conformance(cmd *cobra.Command, location string) error {
	a, err := node.OpenArray(cmd, location)
	if err != nil {
		return err
	}
	defer a.Close()
	src, err := source.New(cmd.Context(), a, "", false)
	if err != nil {
		return err
	}
	t := src.Type
	var line []byte
	return session.Print(cmd, func(w *bufio.Writer) error {
		return src.Elements(cmd.Context(), func(elem []byte) error {
			line = append(t.AppendJSON(line[:0], elem), '\n')
			_, err := w.Write(line)
			return err
		})
	})
}
