package zarr

import (
	"fmt"

	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/store"
)

// checkNew refuses names that format 3 reserves for nodes that are to be created.
// Existing nodes of such names are read, since zarr-python writes them.
func checkNew(format int, places ...store.Path) error {
	for _, p := range places {
		if format == 3 && own.Reserved(p.Name()) {
			return fault.Argument("node name %q begins with \"__\", which is reserved in format 3: choose another name, or format 2", p.Name())
		}
	}
	return nil
}

// nameNotes says what is unusual about the name of the node.
func (n *node) nameNotes() []string {
	if n.isV2() || !own.Reserved(n.path.Name()) {
		return nil
	}
	return []string{fmt.Sprintf("the name %q begins with \"__\", which format 3 reserves (zarr-python writes such names): "+
		"it is read, copied and converted, and not created", n.path.Name())}
}
