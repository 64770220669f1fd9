// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// meaningDir is where an unfinished conversion keeps what the values of arrays mean, one
// object for each state of the documents of an array. Times do not tell this: the chunks
// of another grid may have been staged long before their document was published, and the
// chunks of the new format may depend on the shape of the source.
const meaningDir = own.Dir + "/converting/"

// meaning is a state of the documents of an array.
type meaning struct {
	Path   string    `json:"path"` // below the node
	Source paragraph `json:"source"`
	Result paragraph `json:"result"`

	of *member
}

// paragraph has the documents of an array in one format.
type paragraph struct {
	Name       string `json:"name"`
	Document   []byte `json:"document"`
	Attributes []byte `json:"attributes,omitempty"`
}

func (p *paragraph) layout() layout { return layoutOf(p.Name, p.Document, p.Attributes) }

func paragraphOf(n metadata.Node) (p paragraph, err error) {
	list, err := documentsOf(n)
	for _, t := range list {
		if t.name == metadata.V2Attributes {
			p.Attributes = t.bytes
		} else {
			p.Name, p.Document = t.name, t.bytes
		}
	}
	return p, err
}

func meaningOf(m *member) (*meaning, error) {
	from, err := paragraphOf(m.is)
	if err != nil {
		return nil, err
	}
	to, err := paragraphOf(m.will)
	return &meaning{m.Path, from, to, m}, err
}

// agrees reports whether values that were stored for one state serve for the other one,
// as far as the keys tell.
func (n *meaning) agrees(o *meaning) bool {
	for _, pair := range [...][2]*paragraph{{&n.Source, &o.Source}, {&n.Result, &o.Result}} {
		a, b := pair[0].layout(), pair[1].layout()
		if !a.continues(&b) {
			return false
		}
	}
	return true
}

// checkMeanings stores what the values of this call mean, and looks at what those that
// are there do. If that is something else, a part is refused, and the call that publishes
// makes the array anew.
func (c *conversion) checkMeanings(ctx context.Context) error {
	mine, texts, err := c.ownMeanings()
	if err != nil {
		return err
	}
	there, err := c.meanings(ctx)
	if err == nil && !c.DryRun {
		there, err = c.putMeanings(ctx, texts, there)
	}
	if err != nil {
		return err
	}
	others := map[string][]string{} // names by the paths of arrays
	for _, name := range there {
		if texts[name] != nil {
			continue
		}
		is, err := c.meaning(ctx, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // another process has published, or begun anew
		}
		if err != nil {
			return err
		}
		switch now := mine[is.Path]; {
		case now == nil: // sweep deletes the values of an array that is none any more
		case now.agrees(&is):
			now.of.shapes = append(now.of.shapes, is.Result.layout().grid.Shape())
		default:
			others[is.Path] = append(others[is.Path], name)
		}
	}
	return c.settleMeanings(ctx, others)
}

// ownMeanings returns what the values of this call mean, by the paths of arrays, and as
// texts by their names.
func (c *conversion) ownMeanings() (map[string]*meaning, map[string][]byte, error) {
	mine, texts := map[string]*meaning{}, map[string][]byte{}
	for _, m := range c.survey.members {
		if m.Kind != "array" {
			continue
		}
		is, err := meaningOf(m)
		if err != nil {
			return nil, nil, err
		}
		text, err := json.Marshal(is)
		if err != nil {
			return nil, nil, err
		}
		sum := sha256.Sum256(text)
		mine[m.Path], texts[hex.EncodeToString(sum[:16])] = is, text
	}
	return mine, texts, nil
}

// putMeanings stores the texts that are not there, and lists again: processes that find
// different states must notice each other.
func (c *conversion) putMeanings(ctx context.Context, texts map[string][]byte, there []string) ([]string, error) {
	var stored []string
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if !slices.Contains(there, name) {
			stored = append(stored, name)
		}
	}
	if len(stored) == 0 {
		return there, nil
	}
	g, within := parallel.New(ctx)
	g.SetLimit(c.workers())
	for _, name := range stored {
		g.Go(func() error { return c.put(within, c.goal.MustKey(meaningDir+name), texts[name]) })
	}
	err := g.Wait(nil)
	if err == nil {
		if err = c.checkUnpublished(ctx); errors.Is(err, errPublished) {
			// Nobody else would delete them.
			err = errors.Join(err, c.deleteMeanings(ctx, func(name string) bool { return slices.Contains(stored, name) }))
		}
	}
	if err != nil {
		return nil, err
	}
	return c.meanings(ctx)
}

// settleMeanings refuses or removes the values of arrays whose documents have changed.
func (c *conversion) settleMeanings(ctx context.Context, others map[string][]string) error {
	for _, m := range c.survey.members {
		names := others[m.Path]
		switch {
		case len(names) == 0:
			continue
		case c.Share != nil:
			return fmt.Errorf("%w: %q has other chunks than those that parts have converted, and a part removes nothing; convert with Resume and without parts",
				zarr.ErrSourceChanged, "/"+m.path.String())
		case c.DryRun:
			m.anew = true
			continue
		}
		below := strings.TrimPrefix(m.Path+"/", "/")
		err := c.clearThose(ctx, func(name string) bool { // documents of the array are gone
			return strings.HasPrefix(name, below) && !own.IsBelow(name)
		})
		if err == nil {
			// Last, so that a crash before this leads here again.
			err = c.deleteMeanings(ctx, func(name string) bool { return slices.Contains(names, name) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// meanings returns the names of what is known about values.
func (c *conversion) meanings(ctx context.Context) (names []string, err error) {
	for e, err := range store.List(ctx, c.copier.to, c.goal.MustKey(meaningDir+"-").Dir(), false) {
		if err != nil {
			return nil, err
		}
		if !e.Dir {
			names = append(names, e.Name)
		}
	}
	return names, nil
}

func (c *conversion) meaning(ctx context.Context, name string) (is meaning, err error) {
	key := c.goal.MustKey(meaningDir + name)
	raw, err := c.document(ctx, c.copier.to, key)
	if err != nil {
		return is, err
	}
	if err := json.Unmarshal(raw, &is); err != nil {
		return is, fmt.Errorf("%w: %s is damaged; delete the destination, and convert again", zarr.ErrCorrupt, key)
	}
	return is, nil
}

func (c *conversion) deleteMeanings(ctx context.Context, goes func(name string) bool) error {
	names, err := c.meanings(ctx)
	if err != nil {
		return err
	}
	g, within := parallel.New(ctx)
	g.SetLimit(c.workers())
	for _, name := range names {
		if goes(name) {
			g.Go(func() error { return store.Delete(within, c.copier.to, c.goal.MustKey(meaningDir+name)) })
		}
	}
	return g.Wait(nil)
}
