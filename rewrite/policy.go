package rewrite

import (
	"encoding/json"
	"errors"
	"fmt"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/metadata"
)

// withoutPolicy removes the policy that is stored with an array where regular chunks,
// which follow the extent, cannot follow it: every append would be refused. It says so,
// and returns "" where nothing is removed. What is no policy stays.
func withoutPolicy(a *metadata.Array) (note string, err error) {
	raw, found, err := metadata.Attribute(a.Attributes, own.GrowthAttribute)
	if err != nil || !found {
		return "", nil // a null object has none
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
	a.Attributes, err = metadata.UnsetAttribute(a.Attributes, own.GrowthAttribute)
	return fmt.Sprintf("attribute %s, %.80s, is removed: format 2 has regular chunks only, which cannot follow it", own.GrowthAttribute, text), err
}
