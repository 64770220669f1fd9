// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"encoding/json"
	"errors"
	"fmt"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/metadata"
)

// GrowthAttribute is the attribute in which the command varve keeps the growth policy of
// an array, so that later appends follow it. [Convert] removes it from arrays of format
// 2, whose regular chunks cannot follow it.
const GrowthAttribute = own.Growth

// withoutPolicy removes a stored growth policy that regular chunks cannot follow, because
// every append would be refused. It returns a note for the caller, or "" if it removes
// nothing. An attribute that is not a valid policy stays.
func withoutPolicy(a *metadata.Array) (note string, err error) {
	raw, found, err := metadata.Attribute(a.Attributes, GrowthAttribute)
	if err != nil || !found {
		return "", nil // attributes that are null
	}
	var stored struct {
		Policy string `json:"policy"`
	}
	if json.Unmarshal(raw, &stored) != nil {
		return "", nil
	}
	g, err := grid.ParseGrowth(stored.Policy)
	text := g.String()
	switch {
	case errors.Is(err, grid.ErrCalendar):
		text = stored.Policy
	case err != nil || g.KeepsRegular():
		return "", nil
	}
	a.Attributes, err = metadata.UnsetAttribute(a.Attributes, GrowthAttribute)
	return fmt.Sprintf("attribute %s, %.80s, is removed: format 2 has regular chunks only, which cannot follow it", GrowthAttribute, text), err
}
