package rewrite

import (
	"encoding/json"
	"errors"
	"fmt"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/metadata"
)

// growthAttribute is the attribute in which the command varve stores how the chunks of an array go on.
const growthAttribute = "varve:growth"

// withoutPolicy removes the policy that is stored with an array where regular chunks, which follow the extent, cannot follow
// it: every append would be refused. It says so, and returns "" where nothing is removed. What is no policy stays.
func withoutPolicy(a *metadata.Array) (note string, err error) {
	raw, found, err := metadata.Attribute(a.Attributes, growthAttribute)
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
	if errors.Is(err, grid.ErrCalendar) {
		text, err = stored.Policy, nil
	}
	if err != nil || text == grid.AppendOne().String() || text == grid.RepeatLast().String() {
		return "", nil
	}
	a.Attributes, err = metadata.UnsetAttribute(a.Attributes, growthAttribute)
	return fmt.Sprintf("attribute %s, %.80s, is removed: format 2 has regular chunks only, which cannot follow it", growthAttribute, text), err
}
