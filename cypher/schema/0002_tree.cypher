CREATE INDEX step_left IF NOT EXISTS FOR (n:Step) ON (n.p_b, n.abandoned_step);
CREATE INDEX step_left_scope IF NOT EXISTS FOR (n:Step) ON (n.left_scope);
CREATE INDEX state_versions IF NOT EXISTS FOR (n:State) ON (n.task, n.lineage, n.from_step);
CREATE INDEX state_first_id IF NOT EXISTS FOR (n:State) ON (n.first_of, n.id);
