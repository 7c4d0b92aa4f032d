MATCH (s:SummaryNode) WHERE s.rank > 0 AND s.written IS NULL
CALL (s) {
  MATCH (a:Step) USING INDEX a:Step(about, number)
  WHERE a.about = s.key AND a.number > 0 AND a.message IS NOT NULL
  RETURN max(a.number) AS written
}
SET s.written = written;
