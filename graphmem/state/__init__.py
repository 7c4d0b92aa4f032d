"""FlowState, pure: values, the output protocol, the execution rules, the index and the rendering of a status."""
