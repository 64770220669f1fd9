package main

import (
	"bufio"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/localfile"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/draw"
	"varve.dev/zarr/grid"
)

// answers are what people asked for: where it is, and in words.
type answers struct {
	text   []string
	chunks []grid.Box
}

// answer looks for the element of --locate and the chunk of --chunk.
func (f *gridFlags) answer(cmd *cobra.Command, d *drawn) (a answers, err error) {
	if cmd.Flags().Changed("locate") {
		l, err := f.located(d)
		if err != nil {
			return a, err
		}
		a.text = append(a.text, fmt.Sprintf("element %s is in chunk %s, at %s within it", phrase.Index(l.Index), phrase.Index(l.Chunk), phrase.Index(l.Within)))
		a.chunks = append(a.chunks, boxAt(l.Chunk))
	}
	if cmd.Flags().Changed("chunk") {
		c, err := f.found(d)
		if err != nil {
			return a, err
		}
		a.text = append(a.text, c.sentence(f.chunk, d.grid))
		if c != nil {
			a.chunks = append(a.chunks, boxAt(c.Index))
		}
	}
	return a, nil
}

// boxAt returns the box of one chunk.
func boxAt(index []int64) grid.Box {
	b := make(grid.Box, len(index))
	for i, k := range index {
		b[i] = grid.Interval{Start: k, Stop: k + 1}
	}
	return b
}

// printPicture writes the grid as a picture, with what was asked for marked and said
// below it.
func (f *gridFlags) printPicture(cmd *cobra.Command, d *drawn) error {
	a, err := f.answer(cmd, d)
	if err != nil {
		return err
	}
	stored, err := d.stored(cmd)
	if err != nil {
		return err
	}
	opt := &draw.SVGOptions{
		Axes: d.axes, Names: d.names, Stored: stored, Inner: d.inner, Labels: d.timeNames(cmd.Context()),
		Caption: strings.Join(append([]string{d.summary()}, a.text...), "\n"),
	}
	if d.array != nil {
		opt.Title = phrase.Printable(filepath.Base(d.title))
	}
	for _, chunks := range a.chunks {
		opt.Marks = append(opt.Marks, draw.Mark{Chunks: chunks, Meaning: "asked for"})
	}
	picture := draw.SVG(d.grid, opt)
	if f.svg == "-" {
		_, err := cmd.OutOrStdout().Write(picture)
		return err
	}
	return localfile.Replace(f.svg, func(w *bufio.Writer) error {
		_, err := w.Write(picture)
		return err
	})
}
